package jsonc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// manyServers builds a file of n servers, about 100 bytes each.
func manyServers(n int) []byte {
	var out strings.Builder
	out.WriteString("{\n  \"mcpServers\": {\n")
	for i := range n {
		if i > 0 {
			out.WriteString(",\n")
		}
		fmt.Fprintf(&out, "    \"server-%05d\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@acme/server-%d\"]\n    }", i, i)
	}
	out.WriteString("\n  }\n}\n")
	return []byte(out.String())
}

// history builds a file of about size bytes that resembles a harness's own state: many projects with long texts.
func history(size int) []byte {
	var out strings.Builder
	out.WriteString("{\n  \"projects\": {\n")
	for i := 0; out.Len() < size; i++ {
		if i > 0 {
			out.WriteString(",\n")
		}
		fmt.Fprintf(&out, "    \"/home/someone/work/project-%d\": {\n      \"allowedTools\": [],\n      \"history\": [\n", i)
		for j := range 20 {
			if j > 0 {
				out.WriteString(",\n")
			}
			fmt.Fprintf(&out, "        {\n          \"display\": %s,\n          \"pastedContents\": {}\n        }",
				Quote(strings.Repeat("why does \"this\" fail? é ", 1+j%6)))
		}
		out.WriteString("\n      ],\n      \"mcpServers\": {},\n      \"hasTrustDialogAccepted\": true\n    }")
	}
	out.WriteString("\n  }\n}\n")
	return []byte(out.String())
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct {
		name string
		src  []byte
		o    Options
	}{
		{"10000servers", manyServers(10000), Strict},
		{"10000servers/lenient", manyServers(10000), Options{Comments: true, TrailingCommas: true, BOM: true, Lenient: true}},
		{"5MB", history(5 << 20), Strict},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(c.src, c.o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStandardLibrary(b *testing.B) {
	src := manyServers(10000)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		var tree any
		if err := json.Unmarshal(src, &tree); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadServers is what a reload does: parse, then read each server with its line.
func BenchmarkReadServers(b *testing.B) {
	src := manyServers(10000)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := Parse(src, Strict)
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range d.Root().Get("mcpServers").Members() {
			command, _ := m.Value.Get("command").Str()
			args, _ := m.Value.Get("args").Strings()
			if command == "" || len(args) != 2 || m.Line() == 0 {
				b.Fatal(m.Key)
			}
		}
	}
}

// BenchmarkSet is one switch in a harness's own large state, with the comparison that guards it.
func BenchmarkSet(b *testing.B) {
	src := history(5 << 20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Set(src, Strict, []string{"projects", "/home/someone/work/project-7", "disabledMcpServers"}, `["a"]`); err != nil {
			b.Fatal(err)
		}
	}
}
