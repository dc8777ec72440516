// Command guarded links Bubble Tea behind the guard, and does nothing else.
package main

import (
	"fmt"

	_ "github.com/charmbracelet/bubbletea"

	_ "fusebox/ui/termguard"
)

func main() { fmt.Println("started") }
