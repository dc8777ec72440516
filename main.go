// Command fusebox shows and switches the MCP servers of every coding harness on this machine.
package main

func main() {}
