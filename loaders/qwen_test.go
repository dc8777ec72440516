package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// TestQwenApprovalHash compares with hashes that Qwen Code 0.24.4 stored.
func TestQwenApprovalHash(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/qwen/approval-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonc.Parse(data, jsonc.Strict)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { return doc.Root().Lookup("env", name).Str() }
	vectors := doc.Root().Get("vectors").Elements()
	if len(vectors) != 32 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		name, _ := v.Get("name").Str()
		file, _ := v.Get("file").Str()
		want, _ := v.Get("hash").Str()
		text := jsString(v.Get("hashed_text"))
		fill := func(s string) string { return fillQwen(s, lookup) }
		if got := qwenHashedText(v.Get("entry"), file == ".mcp.json", fill); got != text {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, text)
		}
		if got := qwenApprovalHash(v.Get("entry"), file == ".mcp.json", fill); got != want {
			t.Errorf("%s: hash %s, want %s", name, got, want)
		}
	}
}

const (
	qwenUser      = "home/.qwen/settings.json"
	qwenProject   = "project/.qwen/settings.json"
	qwenTrustFile = "home/.qwen/trustedFolders.json"
	qwenApprovals = "home/.qwen/mcpApprovals.json"
	qwenTrustOn   = `"security": {"folderTrust": {"enabled": true}}`
)

// qwenDecision is the record of a decision about an entry, which is hashed as it stands.
func qwenDecision(t *testing.T, name, entry, status string, mcpJSON bool) string {
	t.Helper()
	doc, err := jsonc.Parse([]byte(entry), jsonc.Strict)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`%q: {"hash": %q, "status": %q}`, name, qwenApprovalHash(doc.Root(), mcpJSON, same), status)
}

func TestQwen(t *testing.T) {
	t.Parallel()
	const two = `{"mcpServers": {` + "\n" + `"a": {"command": "x"},` + "\n" + `"b": {"command": "y"}}}`
	approvedA := `{"@PROJECT@": {` + "\n" + qwenDecision(t, "a", `{"command": "x"}`, "approved", true) + ",\n" + qwenDecision(t, "b", `{"command": "y"}`, "rejected", true) + "}}"
	runSettingsCases(t, qwenCode(), []geminiCase{
		{name: "layers", files: map[string]string{
			qwenUser: "{\"mcpServers\": {\n\"u\": {\"httpUrl\": \"https://h\"},\n\"m\": {\"command\": \"u\"},\n\"p\": {\"command\": \"u\"},\n\"s\": {\"url\": \"https://h\"}}}", "project/.mcp.json": "{\"mcpServers\": {\n\"m\": {\"command\": \"m\"},\n\"p\": {\"command\": \"m\"}}}",
			qwenProject: "{\"mcpServers\": {\n\"p\": {\"command\": \"p\"},\n\"s\": {\"command\": \"p\"}}}", "etc/qwen-code/settings.json": "{\"mcpServers\": {\n\"s\": {\"command\": \"s\"}}}",
			"etc/qwen-code/system-defaults.json": "{\"mcpServers\": {\n\"u\": {\"command\": \"d\"},\n\"d\": {\"command\": \"d\"}}}"},
			want: `
				d: configured system-defaults /etc/qwen-code/system-defaults.json:3 stdio
				m: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:2 stdio >user home/.qwen/settings.json:3
				p: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.qwen/settings.json:2 stdio >project project/.mcp.json:3 >user home/.qwen/settings.json:4
				s: configured system /etc/qwen-code/settings.json:2 stdio >project project/.qwen/settings.json:3 >user home/.qwen/settings.json:5
				u: configured user home/.qwen/settings.json:2 http >system-defaults /etc/qwen-code/system-defaults.json:2`},
		{name: "approved and rejected", files: map[string]string{"project/.mcp.json": two, qwenApprovals: approvedA},
			want: `
				a: configured project project/.mcp.json:2 stdio
				b: disabled rejected(home/.qwen/mcpApprovals.json:3) project project/.mcp.json:3 stdio`},
		{name: "approved for settings", files: map[string]string{qwenProject: two, qwenApprovals: approvedA},
			want: `
				a: configured project project/.qwen/settings.json:2 stdio
				b: disabled rejected(home/.qwen/mcpApprovals.json:3) project project/.qwen/settings.json:3 stdio`},
		{name: "changed since", files: map[string]string{"project/.mcp.json": `{"mcpServers": {"a": {"command": "x", "args": []}, "b": {"command": "z"}}}`, qwenApprovals: approvedA},
			want: `
				a: unapproved approval-changed(home/.qwen/mcpApprovals.json:2) project project/.mcp.json:1 stdio
				b: unapproved approval-changed(home/.qwen/mcpApprovals.json:3) project project/.mcp.json:1 stdio`},
		{name: "type counts in settings only", files: map[string]string{"project/.mcp.json": `{"mcpServers": {"a": {"type": "stdio", "command": "x", "description": "d"}}}`, qwenProject: `{"mcpServers": {"b": {"type": "stdio", "command": "y", "scope": "user"}}}`, qwenApprovals: approvedA},
			want: `
				a: configured project project/.mcp.json:1 stdio
				b: unapproved approval-changed(home/.qwen/mcpApprovals.json:3) project project/.qwen/settings.json:1 stdio {key-without-effect}`},
		{name: "odd records", files: map[string]string{"project/.mcp.json": two, qwenApprovals: `{"@PROJECT@": {"a": "approved", "b": ` + strings.SplitN(qwenDecision(t, "b", `{"command": "y"}`, "maybe", true), ": ", 2)[1] + `}}`},
			want: `
				a: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:2 stdio
				b: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:3 stdio`},
		{name: "approvals of a parent folder", files: map[string]string{"project/.mcp.json": two, qwenApprovals: strings.Replace(approvedA, "@PROJECT@", "@HOME@", 1)},
			want: `
				a: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:2 stdio
				b: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:3 stdio`},
		{name: "broken approvals", files: map[string]string{"project/.mcp.json": two, qwenApprovals: "\ufeff{}", qwenUser: two},
			want: `
				a: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:2 stdio >user home/.qwen/settings.json:2
				b: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:3 stdio >user home/.qwen/settings.json:3
				file home/.qwen/mcpApprovals.json:1 malformed
				note approvals-not-read home/.qwen/mcpApprovals.json:1`},
		{name: "approvals elsewhere", files: map[string]string{"project/.mcp.json": two, "home/x.json": approvedA}, vars: map[string]string{"QWEN_CODE_MCP_APPROVALS_PATH": "@HOME@/x.json"},
			want: `
				a: configured project project/.mcp.json:2 stdio
				b: disabled rejected(home/x.json:3) project project/.mcp.json:3 stdio`},
		{name: "variables in the hash", files: map[string]string{qwenProject: `{"env": {"S": "s"}, "mcpServers": {"a": {"command": "$V"}, "b": {"command": "$S"}, "c": {"command": "${P}"}}}`, "project/.env": "P=p\n",
			qwenApprovals: `{"@PROJECT@": {` + qwenDecision(t, "a", `{"command": "v"}`, "approved", false) + "," + qwenDecision(t, "b", `{"command": "s"}`, "approved", false) + "," + qwenDecision(t, "c", `{"command": "${P}"}`, "approved", false) + "}}"},
			vars: map[string]string{"V": "v"},
			want: `
				a: configured project project/.qwen/settings.json:1 stdio
				b: configured project project/.qwen/settings.json:1 stdio {listing-differs}
				c: unapproved approval-changed(home/.qwen/mcpApprovals.json:1) project project/.qwen/settings.json:1 stdio {listing-differs}`},
		{name: "yolo in the project", files: map[string]string{"project/.mcp.json": two, qwenApprovals: approvedA, qwenProject: "{\n\"tools\": {\"approvalMode\": \" YOLO \"},\n\"mcpServers\": {\"p\": {\"command\": \"x\"}}}"},
			want: `
				a: configured project project/.mcp.json:2 stdio
				b: configured project project/.mcp.json:3 stdio {gate-opened-by-project-file}
				p: configured project project/.qwen/settings.json:3 stdio {gate-opened-by-project-file}`},
		{name: "yolo of the user", files: map[string]string{"project/.mcp.json": two, qwenUser: `{"tools": {"approvalMode": "yolo"}}`},
			want: `
				a: configured project project/.mcp.json:2 stdio {from-repository listing-differs}
				b: configured project project/.mcp.json:3 stdio {from-repository listing-differs}`},
		{name: "yolo of an untrusted project", files: map[string]string{"project/.mcp.json": two, qwenUser: `{` + qwenTrustOn + `}`, qwenProject: `{"tools": {"approvalMode": "yolo"}}`},
			want: `
				a: unapproved untrusted-folder(home/.qwen/trustedFolders.json:1) project project/.mcp.json:2 stdio
				b: unapproved untrusted-folder(home/.qwen/trustedFolders.json:1) project project/.mcp.json:3 stdio
				untrusted`},
		{name: "an unknown approval mode", files: map[string]string{qwenUser: "{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n\"tools\": {\"approvalMode\": \"foo\"}}"},
			want: `
				a: error file-refused(home/.qwen/settings.json:2) user home/.qwen/settings.json:1 stdio
				file home/.qwen/settings.json:2 malformed
				broken home/.qwen/settings.json:2`},
		{name: "server command of the project", files: map[string]string{qwenProject: "{\"mcp\": {\n\"serverCommand\": \"run $X\"}, \"mcpServers\": {\"mcp\": {\"command\": \"x\"}}}", qwenUser: `{"mcp": {"allowed": []}}`},
			want: `
				mcp: configured project project/.qwen/settings.json:2 stdio >project project/.qwen/settings.json:2 {gate-opened-by-project-file listing-differs unset-variable}`},
		{name: "server command of the user", files: map[string]string{qwenUser: `{"mcp": {"serverCommand": "run", "excluded": ["mcp"]}}`},
			want: `
				mcp: disabled switched-off(home/.qwen/settings.json:1) user home/.qwen/settings.json:1 stdio {listing-differs}`},
		{name: "server command that cannot be read", files: map[string]string{qwenUser: "{\"mcp\": {\n\"serverCommand\": \"run | x\"}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}"},
			want: `
				a: error file-refused(home/.qwen/settings.json:2) user home/.qwen/settings.json:2 stdio
				mcp: error file-refused(home/.qwen/settings.json:2) user home/.qwen/settings.json:2 {listing-differs}`},
		{name: "server command of blanks", files: map[string]string{qwenUser: `{"mcp": {"serverCommand": " "}}`},
			want: `
				mcp: error entry-invalid(home/.qwen/settings.json:1) user home/.qwen/settings.json:1 {listing-differs}`},
		{name: "untrusted without a rule", files: map[string]string{qwenUser: `{` + qwenTrustOn + `, "mcpServers": {"u": {"command": "x"}, "x": {"command": "x"}, "p": {"command": "x"}}, "mcp": {"excluded": ["x"]}}`, qwenProject: `{"mcpServers": {"p": {"command": "x"}}, "mcp": {"excluded": ["u"]}}`, "project/.mcp.json": two, qwenApprovals: approvedA},
			want: `
				a: unapproved untrusted-folder(home/.qwen/trustedFolders.json:1) project project/.mcp.json:2 stdio {listing-differs}
				b: disabled rejected(home/.qwen/mcpApprovals.json:3) project project/.mcp.json:3 stdio
				p: unapproved untrusted-folder(home/.qwen/trustedFolders.json:1) project project/.qwen/settings.json:1 stdio >user home/.qwen/settings.json:1
				u: unapproved untrusted-folder(home/.qwen/trustedFolders.json:1) user home/.qwen/settings.json:1 stdio {listing-differs}
				x: disabled switched-off(home/.qwen/settings.json:1) user home/.qwen/settings.json:1 stdio {listing-differs}
				untrusted`},
		{name: "the deepest rule", files: map[string]string{qwenUser: `{` + qwenTrustOn + `, "mcpServers": {"u": {"command": "x"}}}`, qwenTrustFile: "{\"@HOME@\": \"DO_NOT_TRUST\",\n\"@PROJECT@/x/\": \"TRUST_PARENT\"}"},
			want: `
				u: configured user home/.qwen/settings.json:1 stdio`},
		{name: "a tie of rules", files: map[string]string{qwenUser: `{` + qwenTrustOn + `, "mcpServers": {"u": {"command": "x"}}}`, qwenTrustFile: "{\"@PROJECT@/x\": \"TRUST_PARENT\",\n\"@PROJECT@\": \"DO_NOT_TRUST\"}"},
			want: `
				u: unapproved untrusted-folder(home/.qwen/trustedFolders.json:2) user home/.qwen/settings.json:1 stdio {listing-differs}
				untrusted`},
		{name: "a rule through a link", files: map[string]string{qwenUser: `{` + qwenTrustOn + `, "mcpServers": {"u": {"command": "x"}}}`, "home/link": "-> @PROJECT@", qwenTrustFile: `{"@HOME@/link": "TRUST_FOLDER"}`},
			want: `
				u: configured user home/.qwen/settings.json:1 stdio`},
		{name: "an unknown level", files: map[string]string{qwenUser: `{` + qwenTrustOn + `, "mcpServers": {"u": {"command": "x"}}}`, qwenTrustFile: "{\"@PROJECT@\": \"TRUST_FOLDER\",\n\"@PROJECT@/\": \"MAYBE\"}"},
			want: `
				u: configured user home/.qwen/settings.json:1 stdio
				note wrong-type home/.qwen/trustedFolders.json:2`},
		{name: "broken rules", files: map[string]string{qwenUser: `{` + qwenTrustOn + `, "mcpServers": {"u": {"command": "x"}}}`, qwenTrustFile: "{\n,}"},
			want: `
				u: error file-refused(home/.qwen/trustedFolders.json:2) user home/.qwen/settings.json:1 stdio
				file home/.qwen/trustedFolders.json:2 malformed
				broken home/.qwen/trustedFolders.json:2`},
		{name: "broken rules that nobody asks for", files: map[string]string{qwenUser: `{"mcpServers": {"u": {"command": "x"}}}`, qwenTrustFile: "{\n,}", qwenProject: `{"security": {"folderTrust": {"enabled": false}}}`},
			want: `
				u: configured user home/.qwen/settings.json:1 stdio
				file home/.qwen/trustedFolders.json:0 ignored
				note key-without-effect project/.qwen/settings.json:1`},
		{name: "broken rules that the project asks for", files: map[string]string{qwenUser: `{"mcpServers": {"u": {"command": "x"}}}`, qwenTrustFile: "{\n,}", qwenProject: `{` + qwenTrustOn + `}`},
			want: `
				u: error file-refused(home/.qwen/trustedFolders.json:2) user home/.qwen/settings.json:1 stdio
				file home/.qwen/trustedFolders.json:2 malformed
				broken home/.qwen/trustedFolders.json:2`},
		{name: "the project switches trust on against the user", files: map[string]string{qwenUser: `{"security": {"folderTrust": {"enabled": false}}, "mcpServers": {"u": {"command": "x"}}}`, qwenProject: `{` + qwenTrustOn + `, "tools": {"approvalMode": "yolo"}, "mcpServers": {"p": {"command": "x"}}}`},
			want: `
				p: unapproved untrusted-folder(home/.qwen/trustedFolders.json:1) project project/.qwen/settings.json:1 stdio
				u: unapproved untrusted-folder(home/.qwen/trustedFolders.json:1) user home/.qwen/settings.json:1 stdio {listing-differs}
				untrusted`},
		{name: "the project switches trust on where a rule trusts", files: map[string]string{qwenUser: `{"mcpServers": {"u": {"command": "x"}}}`, qwenTrustFile: geminiTrusting, qwenProject: `{` + qwenTrustOn + `}`},
			want: `
				u: configured user home/.qwen/settings.json:1 stdio`},
		{name: "the project switches trust on, the machine off", files: map[string]string{qwenUser: `{"mcpServers": {"u": {"command": "x"}}}`, "etc/qwen-code/settings.json": `{"security": {"folderTrust": {"enabled": false}}}`, qwenProject: `{` + qwenTrustOn + `}`},
			want: `
				u: configured user home/.qwen/settings.json:1 stdio`},
		{name: "lists are joined", files: map[string]string{qwenUser: "{\"mcp\": {\"allowed\": [\"a*\"],\n\"excluded\": [\"ab\", \"?x\"]}, \"mcpServers\": {\"aa\": {\"command\": \"x\"}, \"ab\": {\"command\": \"x\"}, \"ax\": {\"command\": \"x\"}, \"b\": {\"command\": \"x\"}, \"A\": {\"command\": \"x\"}, \"c\": {\"command\": \"x\"}}}",
			qwenProject: "{\"mcp\": {\n\"allowed\": [\"b\", \"$V\"],\n\"excluded\": [\"aa\"]}}", "etc/qwen-code/settings.json": `{"mcp": {"excluded": ["b"]}}`}, vars: map[string]string{"V": "c"},
			want: `
				A: disabled blocked-by-list(project/.qwen/settings.json:2) user home/.qwen/settings.json:2 stdio {listing-differs}
				aa: disabled switched-off(project/.qwen/settings.json:3) user home/.qwen/settings.json:2 stdio {listing-differs}
				ab: disabled switched-off(home/.qwen/settings.json:2) user home/.qwen/settings.json:2 stdio {listing-differs}
				ax: disabled blocked-by-list(home/.qwen/settings.json:2) user home/.qwen/settings.json:2 stdio {listing-differs}
				b: disabled blocked-by-policy(/etc/qwen-code/settings.json:1) user home/.qwen/settings.json:2 stdio {listing-differs}
				c: configured user home/.qwen/settings.json:2 stdio`},
		{name: "an empty allow list", files: map[string]string{qwenUser: `{"mcp": {"allowed": []}, "mcpServers": {"a": {"command": "x"}}}`},
			want: `
				a: disabled blocked-by-list(home/.qwen/settings.json:1) user home/.qwen/settings.json:1 stdio {listing-differs}`},
		{name: "lists of other kinds", files: map[string]string{qwenUser: "{\"mcp\": {\"allowed\": null,\n\"excluded\": \"a\"}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}"},
			want: `
				a: configured user home/.qwen/settings.json:2 stdio {listing-differs}
				note wrong-type home/.qwen/settings.json:2`},
		{name: "a higher list replaces what is no list", files: map[string]string{qwenUser: `{"mcp": {"excluded": "a"}, "mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}`, qwenProject: `{"mcp": {"excluded": ["b", 5]}}`},
			want: `
				a: configured user home/.qwen/settings.json:1 stdio {listing-differs}
				b: disabled switched-off(project/.qwen/settings.json:1) user home/.qwen/settings.json:1 stdio {listing-differs}
				note wrong-type project/.qwen/settings.json:1`},
		{name: "old keys", files: map[string]string{qwenUser: "{\"excludeMCPServers\": [\"a\"], \"folderTrust\": true, \"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"command\": \"x\"}}}", qwenTrustFile: geminiTrusting,
			qwenProject: "{\"$version\": 4,\n\"excludeMCPServers\": [\"b\"]}"},
			want: `
				a: disabled switched-off(home/.qwen/settings.json:1) user home/.qwen/settings.json:1 stdio {listing-differs}
				b: configured user home/.qwen/settings.json:1 stdio
				note wrong-key project/.qwen/settings.json:2`},
		{name: "safe mode", files: map[string]string{qwenUser: two}, vars: map[string]string{"QWEN_CODE_SAFE_MODE": "Yes"},
			want: `
				a: disabled switched-off($QWEN_CODE_SAFE_MODE:1) user home/.qwen/settings.json:2 stdio
				b: disabled switched-off($QWEN_CODE_SAFE_MODE:1) user home/.qwen/settings.json:3 stdio`},
		{name: "sandbox", files: map[string]string{qwenUser: "{\"tools\": {\n\"executionSandbox\": {\"filesystem\": \"read-only\", \"network\": \"closed\"}}, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}"},
			want: `
				a: disabled blocked-by-policy(home/.qwen/settings.json:2) user home/.qwen/settings.json:2 stdio`},
		{name: "broken user file", files: map[string]string{qwenUser: "{\"mcpServers\": {\n\"u\": {\"command\": \"x\"},\n}}", qwenProject: two, "project/.mcp.json": `{"mcpServers": {"m": {"command": "x"}}}`},
			want: `
				a: error file-refused(home/.qwen/settings.json:2) project project/.qwen/settings.json:2 stdio
				b: error file-refused(home/.qwen/settings.json:2) project project/.qwen/settings.json:3 stdio
				m: error file-refused(home/.qwen/settings.json:2) project project/.mcp.json:1 stdio
				u: error file-refused(home/.qwen/settings.json:2) user home/.qwen/settings.json:2 stdio
				file home/.qwen/settings.json:2 malformed
				broken home/.qwen/settings.json:2`},
		{name: "broken project file", files: map[string]string{qwenUser: `{"mcpServers": {"a": {"command": "x"}}}`, qwenProject: "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"p\": {\"command\": \"x\"},\n}}"},
			want: `
				a: configured user home/.qwen/settings.json:1 stdio |project file-refused project/.qwen/settings.json:2
				p: error file-refused(project/.qwen/settings.json:3) project project/.qwen/settings.json:3 stdio
				file project/.qwen/settings.json:3 malformed
				note file-replaced project/.qwen/settings.json:3`},
		{name: "empty project file", files: map[string]string{qwenUser: two, qwenProject: ""},
			want: `
				a: configured user home/.qwen/settings.json:2 stdio
				b: configured user home/.qwen/settings.json:3 stdio
				file project/.qwen/settings.json:1 malformed
				note file-replaced project/.qwen/settings.json:1`},
		{name: "project file is a list", files: map[string]string{qwenUser: two, qwenProject: "[]"},
			want: `
				a: error file-refused(project/.qwen/settings.json:1) user home/.qwen/settings.json:2 stdio
				b: error file-refused(project/.qwen/settings.json:1) user home/.qwen/settings.json:3 stdio
				file project/.qwen/settings.json:1 malformed
				broken project/.qwen/settings.json:1`},
		{name: "byte order marks", files: map[string]string{qwenUser: "\ufeff" + two, "project/.mcp.json": "\ufeff{\"mcpServers\": {\n\"m\": {\"command\": \"x\"}}}"},
			want: `
				a: configured user home/.qwen/settings.json:2 stdio
				b: configured user home/.qwen/settings.json:3 stdio
				m: error file-refused(project/.mcp.json:1) project project/.mcp.json:2 stdio
				file project/.mcp.json:1 malformed
				note file-dropped project/.mcp.json:1`},
		{name: "null entry", files: map[string]string{qwenUser: "{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n\"n\": null}}", "project/.mcp.json": `{"mcpServers": {"n": {"command": "x"}}}`},
			want: `
				a: error file-refused(home/.qwen/settings.json:2) user home/.qwen/settings.json:1 stdio
				n: error file-refused(home/.qwen/settings.json:2) project project/.mcp.json:1 stdio >user home/.qwen/settings.json:2
				file home/.qwen/settings.json:2 malformed
				broken home/.qwen/settings.json:2`},
		{name: "null entry of the project", files: map[string]string{qwenUser: `{"mcpServers": {"n": null}}`, qwenProject: `{"mcpServers": {"n": null}}`},
			want: `
				n: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.qwen/settings.json:1 >user home/.qwen/settings.json:1 {partial-entry}`},
		{name: "null servers", files: map[string]string{qwenUser: two, "project/.mcp.json": `{"mcpServers": {"m": {"command": "x"}}}`, qwenProject: `{"mcpServers": null}`},
			want: `
				m: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:1 stdio
				note wrong-type project/.qwen/settings.json:1`},
		{name: "shapes of .mcp.json", files: map[string]string{qwenUser: `{"mcpServers": {"num": {"command": "u"}}}`, "project/.mcp.json": `{"mcpServers": {
			"empty": {}, "http": {"type": "http", "url": "https://h"}, "httpUrl": {"httpUrl": "https://h"}, "num": 5, "null": null,
			"ref": {"command": "$X", "args": ["${Y:-d}"]}, "sse": {"url": "https://h"},
			"stream": {"type": "streamable-http", "url": "https://h"}, "stdio": {"type": "http", "command": "x", "foo": 1}}}`}, vars: map[string]string{"X": "x"},
			want: `
				empty: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:2 {partial-entry}
				http: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:2 http
				httpUrl: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:2 http
				null: error entry-skipped(project/.mcp.json:2) project project/.mcp.json:2
				num: configured user home/.qwen/settings.json:1 stdio |project entry-skipped project/.mcp.json:2
				ref: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:3 stdio {unset-variable unset-variable}
				sse: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:3 sse
				stdio: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:4 stdio
				stream: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.mcp.json:4 sse {wrong-type}`},
		{name: "wrong key in .mcp.json", files: map[string]string{"project/.mcp.json": "{\n\"servers\": {\"a\": {\"command\": \"x\"}}}"},
			want: `
				file project/.mcp.json:2 malformed
				note wrong-key project/.mcp.json:2`},
		{name: ".mcp.json is a folder", files: map[string]string{"project/.mcp.json/x": "", qwenUser: two},
			want: `
				a: configured user home/.qwen/settings.json:2 stdio
				b: configured user home/.qwen/settings.json:3 stdio
				file project/.mcp.json:0 ignored`},
		{name: "bad entries", files: map[string]string{qwenUser: `{"mcpServers": {
			"args": {"command": "x", "args": "y"},
			"badurl": {"url": "nowhere"},
			"both": {"httpUrl": "https://h", "url": "https://h", "command": "x"},
			"cmd": {"command": 5},
			"cwd": {"command": "x", "cwd": "/no/such/folder"},
			"cwdnum": {"command": "x", "cwd": 5},
			"cwdok": {"command": "x", "cwd": "."},
			"cwdvar": {"command": "x", "cwd": "$NOPE/x"},
			"env": {"command": "x", "env": {"A": 5}, "args": [1]},
			"http": {"url": "https://h", "type": "http"},
			"keys": {"command": "x", "disabled": true, "foo": 1, "tcp": "h:1", "scope": "user"},
			"none": {"args": ["x"]},
			"num": 5,
			"sdk": {"type": "sdk"},
			"tcp": {"tcp": "h:1"},
			"twice": {"command": "x"}, "twice": {"command": "y"},
			"urlnum": {"url": 5},
			"vars": {"command": "$NOPE", "args": ["${A:-d}", "$SESSION_ID"]}
			}}`},
			want: `
				args: error entry-invalid(home/.qwen/settings.json:2) user home/.qwen/settings.json:2 stdio {wrong-type}
				badurl: error entry-invalid(home/.qwen/settings.json:3) user home/.qwen/settings.json:3 sse
				both: configured user home/.qwen/settings.json:4 http {conflicting-keys conflicting-keys}
				cmd: error entry-invalid(home/.qwen/settings.json:5) user home/.qwen/settings.json:5
				cwd: error entry-invalid(home/.qwen/settings.json:6) user home/.qwen/settings.json:6 stdio
				cwdnum: error entry-invalid(home/.qwen/settings.json:7) user home/.qwen/settings.json:7 stdio
				cwdok: configured user home/.qwen/settings.json:8 stdio
				cwdvar: configured user home/.qwen/settings.json:9 stdio {unset-variable}
				env: configured user home/.qwen/settings.json:10 stdio
				http: configured user home/.qwen/settings.json:11 sse {wrong-type}
				keys: configured user home/.qwen/settings.json:12 stdio {key-without-effect key-without-effect unknown-key}
				none: error entry-invalid(home/.qwen/settings.json:13) user home/.qwen/settings.json:13 {partial-entry}
				num: error entry-invalid(home/.qwen/settings.json:14) user home/.qwen/settings.json:14 {partial-entry}
				sdk: error entry-invalid(home/.qwen/settings.json:15) user home/.qwen/settings.json:15
				tcp: error entry-invalid(home/.qwen/settings.json:16) user home/.qwen/settings.json:16 {key-without-effect partial-entry}
				twice: configured user home/.qwen/settings.json:17 stdio {duplicate-key}
				urlnum: error entry-invalid(home/.qwen/settings.json:18) user home/.qwen/settings.json:18
				vars: configured user home/.qwen/settings.json:19 stdio {unset-variable unset-variable unset-variable}`},
		{name: "a list of servers", files: map[string]string{qwenProject: "{\"mcpServers\": [{\"command\": \"x0\"},\n{\"command\": \"x\"}]}"},
			want: `
				0: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.qwen/settings.json:1 stdio
				1: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project project/.qwen/settings.json:2 stdio
				note wrong-type project/.qwen/settings.json:1`},
		{name: "home of its own", files: map[string]string{qwenUser: two, "home/alt/settings.json": `{"mcpServers": {"m": {"command": "x"}}}`}, vars: map[string]string{"QWEN_HOME": "~/alt"},
			want: `
				m: configured user home/alt/settings.json:1 stdio
				file home/.qwen/settings.json:0 ignored
				note file-not-read home/.qwen/settings.json:1`},
		{name: "home of its own by .env", files: map[string]string{"home/.env": "QWEN_HOME=~/alt\n", "home/alt/.env": "QWEN_CODE_TRUSTED_FOLDERS_PATH=@HOME@/rules.json\n", "home/alt/settings.json": `{` + qwenTrustOn + `, "mcpServers": {"m": {"command": "x"}}}`, "home/rules.json": geminiTrusting},
			want: `
				m: configured user home/alt/settings.json:1 stdio`},
		{name: "the project is the home folder", files: map[string]string{qwenUser: `{"mcpServers": {"u": {"command": "x"}}}`, "home/.mcp.json": two}, start: "home",
			want: `
				a: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project home/.mcp.json:2 stdio
				b: unapproved needs-approval(home/.qwen/mcpApprovals.json:1) project home/.mcp.json:3 stdio
				u: configured user home/.qwen/settings.json:1 stdio`},
		{name: "a subfolder", files: map[string]string{qwenUser: `{"mcpServers": {"u": {"command": "x"}}}`, qwenProject: two, "project/.mcp.json": two, "project/sub/.qwen/mcp.json": "{}"}, start: "project/sub",
			want: `
				u: configured user home/.qwen/settings.json:1 stdio
				file project/sub/.qwen/mcp.json:0 ignored
				file project/.mcp.json:0 ignored
				file project/.qwen/settings.json:0 ignored
				note file-not-read project/.mcp.json:1
				note file-not-read project/.qwen/settings.json:1
				note file-not-read project/sub/.qwen/mcp.json:1`},
		{name: "keys that mean nothing", files: map[string]string{qwenUser: `{"servers": {}, "mcp": {"servers": {}}, "mcpServers": "x"}`},
			want: `
				note wrong-key home/.qwen/settings.json:1
				note wrong-key home/.qwen/settings.json:1
				note wrong-type home/.qwen/settings.json:1`},
		{name: "extensions", files: map[string]string{qwenUser: `{"mcpServers": {"u": {"command": "x"}}}`,
			"home/.qwen/extensions/a/qwen-extension.json":          "{\"name\": \"a\", \"mcpServers\": {\n\"u\": {\"command\": \"x\"},\n\"on\": {\"command\": \"${extensionPath}/x\"},\n\"off\": {\"command\": \"x\"},\n\"dup\": {\"command\": \"x\"}}}",
			"home/.qwen/extensions/b/qwen-extension.json":          "{\"name\": \"b\", \"mcpServers\": {\n\"dup\": {\"command\": \"x\"}}}",
			"home/.qwen/extensions/c/qwen-extension.json":          "{\"name\": \"c\", \"mcpServers\": {\n\"gone\": {\"command\": \"x\"}}}",
			"home/.qwen/extensions/l/.qwen-extension-install.json": `{"type": "link", "source": "@HOME@/elsewhere"}`,
			"home/elsewhere/qwen-extension.json":                   "{\"name\": \"l\", \"mcpServers\": {\n\"linked\": {\"command\": \"x\"}}}",
			"home/.qwen/extensions/bad/qwen-extension.json":        "{\"name\": \"bad\", \"mcpServers\": {\n\"n\": null, \"lost\": {\"command\": \"x\"}}}",
			"home/.qwen/extensions/extension-preferences.json":     "{\"disabledMcpServers\": {\n\"a\": [\"off\"]}}",
			"home/.qwen/extensions/extension-enablement.json":      "{\"C\": {\"overrides\": [\n\"!@HOME@/project/*\"]}}",
			"home/.qwen/extensions/p/plugin.json":                  `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "p"}`,
			"home/.qwen/extensions/p/mcp.json":                     "{\"mcpServers\": {\n\"plug\": {\"type\": \"stdio\", \"command\": \"${PLUGIN_ROOT}/x\"},\n\"plughttp\": {\"type\": \"streamable-http\", \"url\": \"https://h\"},\n\"plugsse\": {\"type\": \"sse\", \"url\": \"https://h\"}}}",
			"home/.qwen/extensions/broken-install/keep":            "",
			"home/.qwen/extensions/x/.qwen-extension-install.json": "{",
			"home/.qwen/extensions/x/qwen-extension.json":          `{"name": "x y"}`,
			"home/.qwen/extensions/a/.mcp.json":                    `{"mcpServers": {"unread": {"command": "x"}}}`,
			"home/.qwen/extensions/not-a-folder":                   "",
			"home/.qwen/extensions/none/qwen-extension.json":       "{}"},
			want: `
				dup: configured extension home/.qwen/extensions/a/qwen-extension.json:5 stdio >extension home/.qwen/extensions/b/qwen-extension.json:2
				gone: disabled switched-off(home/.qwen/extensions/extension-enablement.json:2) extension home/.qwen/extensions/c/qwen-extension.json:2 stdio
				linked: configured extension home/elsewhere/qwen-extension.json:2 stdio
				lost: error file-refused(home/.qwen/extensions/bad/qwen-extension.json:2) extension home/.qwen/extensions/bad/qwen-extension.json:2 stdio
				n: error file-refused(home/.qwen/extensions/bad/qwen-extension.json:2) extension home/.qwen/extensions/bad/qwen-extension.json:2 {partial-entry}
				off: disabled switched-off(home/.qwen/extensions/extension-preferences.json:2) extension home/.qwen/extensions/a/qwen-extension.json:4 stdio {listing-differs}
				on: configured extension home/.qwen/extensions/a/qwen-extension.json:3 stdio
				plug: configured extension home/.qwen/extensions/p/mcp.json:2 stdio
				plughttp: configured extension home/.qwen/extensions/p/mcp.json:3 http
				plugsse: error entry-skipped(home/.qwen/extensions/p/mcp.json:4) extension home/.qwen/extensions/p/mcp.json:4
				u: configured user home/.qwen/settings.json:1 stdio >extension home/.qwen/extensions/a/qwen-extension.json:2
				file home/.qwen/extensions/a/.mcp.json:0 ignored
				file home/.qwen/extensions/bad/qwen-extension.json:2 malformed
				file home/.qwen/extensions/none/qwen-extension.json:1 malformed
				file home/.qwen/extensions/x/qwen-extension.json:1 malformed
				note file-not-read home/.qwen/extensions/a/.mcp.json:1
				note extension-skipped home/.qwen/extensions/bad/qwen-extension.json:2
				note extension-skipped home/.qwen/extensions/none/qwen-extension.json:1
				note extension-skipped home/.qwen/extensions/x/qwen-extension.json:1`},
		{name: "broken switches of extension servers", files: map[string]string{"home/.qwen/extensions/a/qwen-extension.json": `{"name": "a", "mcpServers": {"s": {"command": "x"}}}`,
			"home/.qwen/extensions/extension-preferences.json": "{,}"},
			want: `
				s: configured extension home/.qwen/extensions/a/qwen-extension.json:1 stdio
				file home/.qwen/extensions/extension-preferences.json:1 malformed
				note switches-not-read home/.qwen/extensions/extension-preferences.json:1`},
		{name: "broken switches of extensions", files: map[string]string{qwenUser: two, "home/.qwen/extensions/extension-enablement.json": "{\n\"a\": 5}"},
			want: `
				a: error file-refused(home/.qwen/extensions/extension-enablement.json:2) user home/.qwen/settings.json:2 stdio
				b: error file-refused(home/.qwen/extensions/extension-enablement.json:2) user home/.qwen/settings.json:3 stdio
				file home/.qwen/extensions/extension-enablement.json:2 malformed
				broken home/.qwen/extensions/extension-enablement.json:2`},
		{name: "broken extension store", files: map[string]string{qwenUser: two, "home/.qwen/extension-store/state.json": `{"version": 1}`},
			want: `
				a: error file-refused(home/.qwen/extension-store/state.json:1) user home/.qwen/settings.json:2 stdio
				b: error file-refused(home/.qwen/extension-store/state.json:1) user home/.qwen/settings.json:3 stdio
				file home/.qwen/extension-store/state.json:1 malformed
				broken home/.qwen/extension-store/state.json:1`},
		{name: "nothing"},
	})
}

// TestQwenExtensionStore has the state of the extension store beside its copy: which one counts, and what it says.
func TestQwenExtensionStore(t *testing.T) {
	t.Parallel()
	const copyText = `{"e":{"overrides":["!/*"]}}`
	hashOf := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	state := func(hash, policy string) string {
		return fmt.Sprintf("{\"version\": 2, \"generation\": 1, \"legacyProjectionHash\": %q, \"extensions\": {\"%s\": {\"name\": \"e\", %s}}}", hash, strings.Repeat("a", 64), policy)
	}
	const (
		off      = `"defaultActivation": "disabled", "workspaceOverrides": {}`
		on       = `"defaultActivation": "enabled", "workspaceOverrides": {}`
		offHere  = `"defaultActivation": "enabled", "workspaceOverrides": {"@PROJECT@": "disabled"}`
		onHere   = `"defaultActivation": "disabled", "workspaceOverrides": {"@PROJECT@": "enabled"}`
		inherit  = `"defaultActivation": "enabled", "workspaceOverrides": {"@PROJECT@": "inherit"}, "legacyPathRules": ["!@HOME@/*"]`
		pathRule = `"defaultActivation": "enabled", "workspaceOverrides": {}, "legacyPathRules": ["!@HOME@/*"]`
	)
	for _, c := range []struct {
		name, policy, copy string
		newer              bool // the copy was edited after the state
		on                 bool
	}{
		{name: "off by default", policy: off, copy: copyText},
		{name: "on", policy: on, copy: copyText, on: true},
		{name: "off here", policy: offHere, copy: "{}"},
		{name: "on here", policy: onHere, copy: "{}", on: true},
		{name: "inherit beats path rules", policy: inherit, copy: "{}", on: true},
		{name: "path rule", policy: pathRule, copy: "{}"},
		{name: "an older copy does not count", policy: on, copy: `{"e": {"overrides": ["!/*"] }}`, on: true},
		{name: "a newer copy adds a rule", policy: on, copy: `{"e": {"overrides": ["!@PROJECT@/"] }}`, newer: true},
		{name: "a newer copy turns a rule round", policy: offHere, copy: `{"E": {"overrides": ["@PROJECT@/"] }}`, newer: true, on: true},
		{name: "a newer copy turns the default round", policy: off, copy: `{"e": {"overrides": ["/*"] }}`, newer: true, on: true},
		{name: "a newer copy that deletes a rule is undone", policy: offHere, copy: `{"e": {"overrides": [] }}`, newer: true},
		{name: "another extension", policy: strings.Replace(off, "disabled", "enabled", 1) + `, "x": 1`, copy: copyText, on: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSettingsScene(t, map[string]string{
				"home/.qwen/extensions/e/qwen-extension.json": `{"name": "e", "mcpServers": {"x": {"command": "x"}}}`,
				"home/.qwen/extension-store/state.json":       state(hashOf(copyText), c.policy), "home/.qwen/extensions/extension-enablement.json": c.copy}, nil)
			now := time.Now()
			later := now.Add(-time.Hour)
			if c.newer {
				later = now.Add(time.Hour)
			}
			for path, at := range map[string]time.Time{"home/.qwen/extension-store/state.json": now, "home/.qwen/extensions/extension-enablement.json": later} {
				if err := os.Chtimes(s.path(path), at, at); err != nil {
					t.Fatal(err)
				}
			}
			cell := s.column(qwenCode()).Cells[0]
			if (cell.Decision == model.DecisionLoads) != c.on {
				t.Errorf("%s, %s", cell.State(), cell.Reason.Text)
			}
			if !c.on && cell.Reason.DecidedBy.Line < 1 {
				t.Errorf("decided by nothing: %+v", cell.Reason)
			}
		})
	}
	t.Run("both of one moment", func(t *testing.T) {
		t.Parallel()
		s := newSettingsScene(t, map[string]string{qwenUser: `{"mcpServers": {"a": {"command": "x"}}}`,
			"home/.qwen/extension-store/state.json": state(hashOf("{}"), on), "home/.qwen/extensions/extension-enablement.json": copyText}, nil)
		now := time.Now()
		for _, path := range []string{"home/.qwen/extension-store/state.json", "home/.qwen/extensions/extension-enablement.json"} {
			if err := os.Chtimes(s.path(path), now, now); err != nil {
				t.Fatal(err)
			}
		}
		s.check(qwenCode(), `
			a: error file-refused(home/.qwen/extensions/extension-enablement.json:1) user home/.qwen/settings.json:1 stdio
			file home/.qwen/extensions/extension-enablement.json:1 malformed
			broken home/.qwen/extensions/extension-enablement.json:1`)
	})
}

func TestQwenCapabilities(t *testing.T) {
	t.Parallel()
	const entries = `{"mcpServers": {"approved": {"command": "x"}, "rejected": {"command": "x"}, "pending": {"command": "x"}, "excluded": {"command": "x"}}}`
	files := map[string]string{"project/.mcp.json": entries,
		qwenUser:      `{"mcpServers": {"user": {"command": "x"}, "web": {"url": "https://h"}, "off": {"command": "x"}, "pattern": {"command": "x"}, "bad": {}}, "mcp": {"excluded": ["off", "patt*", "excluded"]}}`,
		qwenApprovals: `{"@PROJECT@": {` + qwenDecision(t, "approved", `{"command": "x"}`, "approved", true) + "," + qwenDecision(t, "rejected", `{"command": "x"}`, "rejected", true) + "}}"}
	s := newSettingsScene(t, files, nil)
	can := map[string]struct{ toggle, approve bool }{
		"approved": {true, false}, "rejected": {false, true}, "pending": {true, true}, "excluded": {true, true},
		"user": {true, false}, "web": {true, false}, "off": {true, false}, "pattern": {false, false}, "bad": {false, false},
	}
	for _, c := range s.column(qwenCode()).Cells {
		caps := c.Capabilities
		if want := can[c.Name]; (caps.Toggle == "") != want.toggle || (caps.Approve == "") != want.approve || (caps.Login == "") != (c.Name == "web") {
			t.Errorf("%s: %+v", c.Name, caps)
		}
	}
	s.write(qwenApprovals, "broken")
	for _, c := range s.column(qwenCode()).Cells {
		if c.Capabilities.Approve == "" {
			t.Errorf("%s with broken approvals: %+v", c.Name, c.Capabilities)
		}
	}
}

func TestQwenWatchesWhatCouldAppear(t *testing.T) {
	t.Parallel()
	s := newSettingsScene(t, nil, nil)
	r := NewReader(s.env, NewCache())
	qwenCode().Resolve(s.env, r)
	touched := r.Touched()
	for _, p := range []string{qwenUser, qwenProject, qwenTrustFile, qwenApprovals, "project/.mcp.json", "project/.env", "project/.qwen/.env", "home/.env", "home/.qwen/.env",
		"home/.qwen/extensions", "home/.qwen/extensions/extension-enablement.json", "home/.qwen/extensions/extension-preferences.json",
		"home/.qwen/extension-store/state.json", "etc/qwen-code/settings.json", "etc/qwen-code/system-defaults.json"} {
		if !slices.Contains(touched, s.path(p)) {
			t.Errorf("%s is not watched", p)
		}
	}
}

func TestQwenLaunch(t *testing.T) {
	t.Parallel()
	s := newSettingsScene(t, map[string]string{
		qwenUser:            `{"env": {"SET": "s"}, "mcpServers": {"a": {"command": "$CMD", "args": ["${LATE}", "$HOMEV", "$SET", "$EMPTY", "$NOPE", "$SESSION_ID"], "excludeTools": ["one"]}}}`,
		"project/.mcp.json": `{"mcpServers": {"m": {"command": "$CMD"}}}`,
		"project/.env":      "LATE=late\nEMPTY=filled\nDEBUG=1\nNODE_OPTIONS=x\nQWEN_HOME=/x\n", "home/.env": "HOMEV=home\nLATE=no\n",
	}, map[string]string{"CMD": "run", "EMPTY": "", "QWEN_SERVER_TOKEN": "t", "SESSION_ID": "s"})
	h := qwenCode()
	c := s.column(h)
	l := h.LaunchFor(s.env, &c.Cells[0].Entry)
	if want := []string{"late", "home", "s", "filled", "$NOPE", "$SESSION_ID"}; l.Command != "run" || !slices.Equal(l.Args, want) {
		t.Errorf("%s %q, want %q", l.Command, l.Args, want)
	}
	if want := []string{"CMD=run", "EMPTY=filled", "HOMEV=home", "LATE=late", "SESSION_ID=s", "SET=s"}; !slices.Equal(l.Env, want) {
		t.Errorf("environment %q, want %q", l.Env, want)
	}
	if m := h.LaunchFor(s.env, &c.Cells[1].Entry); m.Command != "$CMD" {
		t.Errorf("an entry of .mcp.json runs %s", m.Command)
	}
	if tools := h.ToolsFor(&c.Cells[0].Entry, []model.Tool{{Name: "one"}, {Name: "two"}}); !slices.Equal(tools.ShownAs, []string{"mcp__a__two"}) {
		t.Errorf("tools %q", tools.ShownAs)
	}
	for name, want := range map[string]string{"a b": "mcp__a_b__t_0ikp4u0", "x": "mcp__x__t"} {
		if got := qwenToolName(name, "t"); got != want {
			t.Errorf("tool of %q is %s, want %s", name, got, want)
		}
	}
	if long := qwenToolName("s", strings.Repeat("x", 80)); len(long) != 63 || !strings.HasPrefix(long, "mcp__s__xxx") {
		t.Errorf("long name %s", long)
	}
}

func TestMatchWildcards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a*", "a", true}, {"a*", "ba", false}, {"*", "", true}, {"?", "", false}, {"?", "é", true}, {"?", "😀", false}, {"??", "😀", true},
		{"a*c*e", "abcde", true}, {"a*c*e", "abcd", false}, {"**", "x", true}, {"A*", "a", false},
	} {
		if got := matchWildcards(c.pattern, c.name); got != c.want {
			t.Errorf("%s on %s gives %t", c.pattern, c.name, got)
		}
	}
}

func FuzzResolveQwen(f *testing.F) {
	f.Add([]byte(`{"$version": 4, "env": {"S": "$CANARY"}, "mcpServers": {"a": {"command": "$CANARY", "args": ["$CANARY", "${LATE}"], "env": {"A": "${S}"}}}, "mcp": {"allowed": ["a*"]}, "security": {"folderTrust": {"enabled": true}}}`),
		[]byte(`{"mcpServers": {"b": {"url": "https://h/$CANARY", "headers": {"A": "$CANARY"}}}, "tools": {"approvalMode": "yolo"}, "mcp": {"serverCommand": "x $CANARY"}}`),
		[]byte(`{"mcpServers": {"m": {"type": "http", "url": "https://h"}, "n": 5}}`), []byte(geminiTrusting), []byte(`{"@PROJECT@": {"m": {"hash": "x", "status": "approved"}}}`),
		[]byte(`{"name": "e", "mcpServers": {"a": {"command": "${extensionPath}"}}}`), []byte(`{"version": 2, "legacyProjectionHash": "x", "extensions": {"x": {"name": "e", "defaultActivation": "disabled"}}}`))
	f.Add([]byte(`{"mcpServers": null, "excludeMCPServers": "a"}`), []byte(``), []byte("\ufeff{}"), []byte(`{"@PROJECT@/x": "TRUST_PARENT"}`), []byte(`[]`), []byte(`{"mcpServers": {"n": null}}`), []byte(`{"e": {"overrides": ["!/*"]}}`))
	f.Fuzz(func(t *testing.T, user, project, mcpJSON, trust, approvals, extension, store []byte) {
		fuzzSettings(t, qwenCode(), map[string]string{qwenUser: string(user), qwenProject: string(project), "project/.mcp.json": string(mcpJSON), qwenTrustFile: string(trust),
			qwenApprovals: string(approvals), "home/.qwen/extensions/e/qwen-extension.json": string(extension), "home/.qwen/extension-store/state.json": string(store)})
	})
}
