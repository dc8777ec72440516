package loaders

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// zedEditor is the registry row of Zed. Its rules were read in its source (settings_content 006ce51, trusted_worktrees 00dc396)
// and documentation; it was not run.
func zedEditor() Harness {
	return Harness{
		Harness: model.Harness{
			ID: "zed", Title: "Zed", Heading: "Zed",
			Verified: model.VerifiedSource, VersionChecked: "006ce51",
			BlindSpots: []model.BlindSpot{
				{Code: "trust-in-database", Text: "whether a folder is trusted: that is in Zed's database, which is read where it can be and never written"},
				{Code: "extensions", Text: "servers that extensions bring along"},
				{Code: "remote", Text: "servers of folders on other machines"},
				{Code: "release-channel", Text: "Preview and Nightly share the settings and have databases of their own"},
				{Code: "sign-in", Text: "whether a remote server asks for a sign-in"},
			},
		},
		Resolve: resolveZed,
		Toggle:  toggleZed,
		Launch:  LaunchRules{Class: EnvironmentFull},
	}
}

// zedJSON is how Zed parses settings: comments and trailing commas.
var zedJSON = jsonc.Options{Comments: true, TrailingCommas: true, BOM: true}

// zed is one resolve of Zed.
type zed struct {
	env      *Env
	r        *Reader
	notes    []model.Note
	trust    model.Decision // loads: trusted, waits: not, unknown: no database tells
	trustAt  model.Location
	trustAll bool // session.trust_all_worktrees
}

// zedEntry is one server of one file.
type zedEntry struct {
	model.Entry
	off   *model.Location
	fault *model.Reason
}

// zedConfigDir is where Zed keeps its settings: ~/.config/zed also on macOS.
func zedConfigDir(env *Env) string {
	switch env.GOOS {
	case "windows":
		return filepath.Join(env.AppData(), "Zed")
	case "darwin":
		return env.InHome(".config/zed")
	}
	return filepath.Join(env.ConfigHome(), "zed")
}

// zedDataDir is where Zed keeps its database.
func zedDataDir(env *Env) string {
	switch env.GOOS {
	case "windows":
		if dir := env.Var("LOCALAPPDATA"); dir != "" {
			return filepath.Join(dir, "Zed")
		}
		return env.InHome("AppData/Local/Zed")
	case "darwin":
		return env.InHome("Library/Application Support/Zed")
	}
	return filepath.Join(env.DataHome(), "zed")
}

func resolveZed(env *Env, r *Reader) Result {
	z := &zed{env: env, r: r}
	dir := zedConfigDir(env)
	userFile, folderFile := filepath.Join(dir, "settings.json"), env.InProject(".zed/settings.json")
	user := z.entries(userFile, model.ScopeUser)
	folder := z.entries(folderFile, model.ScopeProject)
	if len(folder) > 0 {
		z.readTrust()
	}
	if env.GOOS == "darwin" {
		z.stray(env.InHome("Library/Application Support/Zed/settings.json"), model.ScopeUser, userFile)
	}
	z.stray(env.InProject(".zed/mcp.json"), model.ScopeProject, folderFile)
	cells := z.cells(user, folder)
	waits := slices.ContainsFunc(cells, func(c *model.Cell) bool {
		return c.Decision == model.DecisionWaits || waitsBeside(c)
	})
	return Result{Cells: cells, Notes: z.notes, Present: r.IsDir(dir), Untrusted: waits}
}

func (z *zed) tilde(path string) string { return model.Tilde(path, z.env.Home) }

func (z *zed) stray(path string, scope model.Scope, right string) {
	if z.r.Ignored(path, scope, "not read by Zed: it reads "+z.tilde(right)) {
		z.notes = append(z.notes, model.Note{Code: string(model.FindingFileNotRead), Path: path, Line: 1,
			Text: z.tilde(path) + " is not read by Zed: it reads " + z.tilde(right)})
	}
}

// entries reads context_servers of a settings file. A file that does not parse gives no setting at all.
func (z *zed) entries(path string, scope model.Scope) []zedEntry {
	f := z.r.Read(path, scope, 0)
	if !f.OK() || strings.TrimSpace(string(f.Data)) == "" {
		return nil
	}
	z.r.ParseJSON(f, zedJSON)
	if f.Status == model.FileMalformed {
		out := z.servers(z.r.Recover(f), scope)
		reason := &model.Reason{Code: model.ReasonFileRefused, DecidedBy: f.Location(), Text: fmt.Sprintf("Zed does not take %s as it is: %s", z.tilde(path), f.Note)}
		for i := range out {
			out[i].fault = reason
		}
		return out
	}
	if scope == model.ScopeUser {
		z.trustAll, _ = f.Root().Lookup("session", "trust_all_worktrees").Bool()
	}
	servers := f.Root().Get("context_servers")
	if servers.Exists() && servers.Kind() != jsonc.Object {
		z.notes = append(z.notes, model.Note{Code: string(model.FindingWrongType), Path: path, Line: servers.Line(),
			Text: "context_servers of " + z.tilde(path) + " is " + typeWord(servers) + ", not an object: it gives no server"})
	}
	for _, wrong := range []string{"mcpServers", "mcp_servers"} {
		if v := f.Root().Get(wrong); v.Kind() == jsonc.Object {
			z.notes = append(z.notes, model.Note{Code: string(model.FindingWrongKey), Path: path, Line: v.Line(),
				Text: fmt.Sprintf(`%s has %q; Zed reads "context_servers", so these give no server`, z.tilde(path), wrong)})
		}
	}
	return z.servers(f, scope)
}

func (z *zed) servers(f *ConfigFile, scope model.Scope) []zedEntry {
	parsed := Memo(f, fmt.Sprintf("zed/%s/%t", scope, f.OK()), func() []zedEntry {
		members := f.Root().Get("context_servers").Members()
		twice := duplicates(members)
		out := make([]zedEntry, 0, len(members))
		for _, m := range members {
			if m.Shadowed {
				continue
			}
			e := zedEntry{Entry: model.Entry{Name: m.Key, Scope: scope, Source: f.Member("context_servers."+JoinKey(m.Key), m)}}
			if !e.read(f, m.Value) {
				continue
			}
			if _, ok := twice[m.Key]; ok {
				e.Findings = append(e.Findings, duplicateFinding(m.Key, m.Line()))
			}
			out = append(out, e)
		}
		return out
	})
	for _, m := range f.Root().Get("context_servers").Members() {
		if !m.Shadowed && isZedExtension(m.Value) {
			z.notes = append(z.notes, model.Note{Code: "extension-server", Path: f.Path, Line: m.Line(),
				Text: fmt.Sprintf("%s holds settings for the server of an extension; which extensions are installed is not read", quoted(m.Key))})
		}
	}
	return slices.Clone(parsed)
}

// isZedExtension tells whether an entry only sets something for a server that an extension brings.
func isZedExtension(v jsonc.Value) bool {
	return v.Kind() == jsonc.Object && !v.Get("command").Exists() && !v.Get("url").Exists() && v.Get("settings").Exists()
}

// read reads an entry: a command makes it stdio, a url makes it HTTP. It tells whether it is a server of the file's own.
func (e *zedEntry) read(f *ConfigFile, v jsonc.Value) bool {
	invalid := func(bad jsonc.Value, format string, args ...any) {
		if e.fault != nil {
			return
		}
		by := e.Source
		if bad.Exists() {
			by.Line = bad.Line()
		}
		e.fault = &model.Reason{Code: model.ReasonEntryInvalid, DecidedBy: by, Text: fmt.Sprintf(format, args...) + ": Zed takes no server from it"}
	}
	if v.Kind() != jsonc.Object {
		invalid(v, "the entry is %s, not an object", typeWord(v))
		return true
	}
	if isZedExtension(v) {
		return false
	}
	enabled := v.Get("enabled")
	if on, ok := enabled.Bool(); ok && !on {
		at := f.At(e.Source.Key+".enabled", enabled)
		e.off = &at
	}
	find := func(code model.FindingCode, at jsonc.Value, text string) {
		e.Findings = append(e.Findings, model.Finding{Code: code, Severity: model.Warning, Line: at.Line(), Text: text})
	}
	d := &model.Definition{}
	e.Definition = d
	command, address := v.Get("command"), v.Get("url")
	switch {
	case command.Kind() == jsonc.String:
		d.Transport = model.TransportStdio
		d.Command, _ = command.Str()
		if args := v.Get("args"); args.Exists() {
			texts, ok := args.Strings()
			if args.Kind() != jsonc.Array || !ok {
				invalid(args, "args must be a list of texts")
			}
			d.Args = model.Secrets(texts)
		}
		if vars := v.Get("env"); vars.Exists() && vars.Kind() != jsonc.Null {
			var ok bool
			if d.Env, ok = stringMap(vars); !ok {
				invalid(vars, "env must be an object of texts")
			}
		}
		if address.Exists() {
			find(model.FindingConflictingKeys, address, "the url beside a command is ignored")
		}
		if strings.TrimSpace(d.Command) == "" {
			invalid(command, "the command is empty")
		}
	case command.Kind() == jsonc.Object:
		d.Transport = model.TransportStdio
		d.Command, _ = command.Get("path").Str()
		texts, _ := command.Get("args").Strings()
		d.Args = model.Secrets(texts)
		d.Env, _ = stringMap(command.Get("env"))
		invalid(command, "command is an object, as in older versions; now it is a text, with args and env beside it")
	case address.Kind() == jsonc.String:
		d.Transport = model.TransportHTTP
		u, _ := address.Str()
		d.URL = model.NewSecret(u)
		if headers := v.Get("headers"); headers.Exists() {
			var ok bool
			if d.Headers, ok = stringMap(headers); !ok {
				invalid(headers, "headers must be an object of texts")
			}
		}
		if strings.TrimSpace(u) == "" {
			invalid(address, "the url is empty")
		}
	default:
		e.Definition = nil
		invalid(jsonc.Value{}, "it has neither a command nor a url that is a text")
	}
	if _, ok := enabled.Bool(); enabled.Exists() && !ok {
		invalid(enabled, "enabled must be true or false")
	}
	if x := v.Get("disabled"); x.Exists() {
		find(model.FindingUselessKey, x, "disabled does nothing in Zed: its switch is enabled")
	}
	if e.Definition != nil {
		e.Findings = append(e.Findings, strangeReferences("Zed", d, noReference)...)
	}
	return true
}

// zedTrustQuery lists the trusted folders of this machine.
const zedTrustQuery = "SELECT absolute_path FROM trusted_worktrees WHERE host_name IS NULL AND absolute_path IS NOT NULL"

// readTrust looks for the folder among the trusted ones: it or one above it.
func (z *zed) readTrust() {
	path := filepath.Join(zedDataDir(z.env), "db", "0-stable", "db.sqlite")
	rows, ok := z.r.Database(path, model.ScopeUser, zedTrustQuery)
	if !ok {
		return
	}
	z.trust, z.trustAt = model.DecisionWaits, inDatabase(path, "trusted_worktrees")
	project := filepath.Clean(z.env.Project)
	for _, row := range rows {
		if folder := row[0].String; filepath.IsAbs(folder) && (Within(project, folder) || Within(z.r.RealPath(project), folder)) {
			z.trust = model.DecisionLoads
		}
	}
}

// cells compares the files name by name. The folder's entry displaces the user's where the folder is trusted; where it is not,
// Zed does not take the folder's settings, and the user's server runs.
func (z *zed) cells(user, folder []zedEntry) []*model.Cell {
	var out []*model.Cell
	mine := map[string]*zedEntry{}
	for i := range user {
		mine[user[i].Name] = &user[i]
	}
	done := map[string]bool{}
	for i := range folder {
		e := &folder[i]
		done[e.Name] = true
		c := z.decide(e)
		if below := mine[e.Name]; below != nil {
			if c.Decision == model.DecisionWaits || c.Decision == model.DecisionCannot {
				waiting := model.Pending{Entry: c.Entry, State: c.State(), Reason: c.Reason}
				c = z.decide(below)
				c.Pending = append(c.Pending, waiting)
			} else {
				c.Replaces = append(c.Replaces, model.Replaced{Scope: below.Scope, Source: below.Source})
			}
		}
		out = append(out, c)
	}
	for i := range user {
		if !done[user[i].Name] {
			out = append(out, z.decide(&user[i]))
		}
	}
	for _, c := range out {
		c.Capabilities = z.capabilities(c)
	}
	return out
}

func (z *zed) decide(e *zedEntry) *model.Cell {
	if e.fault != nil {
		return cell(e.Entry, model.DecisionCannot, *e.fault)
	}
	if e.off != nil {
		return cell(e.Entry, model.DecisionOff, model.Reason{Code: model.ReasonSwitchedOff, DecidedBy: *e.off, Text: "enabled is false in its entry"})
	}
	if e.Scope != model.ScopeProject {
		return cell(e.Entry, model.DecisionLoads, model.Reason{})
	}
	switch {
	case z.trustAll:
		c := cell(e.Entry, model.DecisionLoads, model.Reason{})
		c.Findings = append(slices.Clip(c.Findings), repositoryFinding())
		return c
	case z.trust == model.DecisionLoads:
		c := cell(e.Entry, model.DecisionLoads, model.Reason{})
		c.Consent = z.trustAt
		return c
	case z.trust == model.DecisionWaits:
		return cell(e.Entry, model.DecisionWaits, model.Reason{Code: model.ReasonUntrustedFolder, DecidedBy: z.trustAt,
			Text: "Zed starts servers of a folder only where the folder is trusted: open it there and trust it"})
	}
	return cell(e.Entry, model.DecisionUnknown, model.Reason{Code: model.ReasonTrustInDatabase, DecidedBy: e.Source,
		Text: "it loads where the folder is trusted in Zed, which is in a database that cannot be read here"})
}

func (z *zed) capabilities(c *model.Cell) model.Capabilities {
	caps := model.Capabilities{Approve: "not needed, user scope", Login: "not needed"}
	if c.Definition != nil && c.Definition.Transport.Remote() {
		caps.Login = ""
	}
	switch {
	case c.Decision == model.DecisionCannot:
		caps.Toggle, caps.Approve = "the entry does not load: mend it first", "the entry does not load: mend it first"
	case c.Scope == model.ScopeProject || waitsBeside(c):
		caps.Approve = "the trust is in a database that is never written: open the folder in Zed"
	}
	return caps
}

// toggleZed sets enabled in the entry: false to switch it off, nothing to switch it on.
func toggleZed(env *Env, r *Reader, c *model.Cell, on bool) []Option {
	path := []string{"context_servers", c.Name, "enabled"}
	step := Step{StepSet, path, "false"}
	if on {
		step = Step{Kind: StepDelete, Path: path}
	}
	return []Option{entryOption(env, r, c, Edit{Path: c.Source.Path, Format: Format{JSON: zedJSON}, Steps: []Step{step}})}
}
