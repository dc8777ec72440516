package tomledit

import (
	"fmt"
	"strings"
	"testing"
)

// manyServers builds a file of n servers, about 100 bytes each.
func manyServers(n int) []byte {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "[mcp_servers.server-%05d]\ncommand = \"npx\"\nargs = [\"-y\", \"@acme/server-%d\"]\n\n[mcp_servers.server-%05d.env]\nA = \"b\"\n\n", i, i, i)
	}
	return []byte(out.String())
}

func BenchmarkParse(b *testing.B) {
	src := manyServers(10000)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	src := manyServers(10000)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Set(src, []string{"mcp_servers", "server-05000", "enabled"}, "false"); err != nil {
			b.Fatal(err)
		}
	}
}
