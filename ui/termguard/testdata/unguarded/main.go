// Command unguarded links Bubble Tea without the guard, and does nothing else.
package main

import (
	"fmt"

	_ "github.com/charmbracelet/bubbletea"
)

func main() { fmt.Println("started") }
