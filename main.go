// Command fusebox shows and switches the MCP servers of every coding harness on this machine.
package main

import (
	"os"

	"fusebox/ui/cli"
	_ "fusebox/ui/termguard" // before Bubble Tea, so that it does not ask the terminal for its background
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
