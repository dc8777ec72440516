package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"fusebox/model"
)

func secretSnapshot(secret string) *model.Snapshot {
	d := &model.Definition{Transport: model.TransportStdio, Command: "run-it", Env: []model.Variable{{Name: "TOKEN", Value: model.NewSecret(secret)}}}
	c := &model.Cell{Harness: "one", Entry: model.Entry{Name: "a", Definition: d}, Decision: model.DecisionLoads}
	return model.NewSnapshot(1, "/p", "/h", time.Unix(0, 0), []*model.Column{{Harness: model.Harness{ID: "one"}, Cells: []*model.Cell{c}}})
}

func TestLogIsMaskedAndOneLineAnEvent(t *testing.T) {
	t.Parallel()
	const first, second = "Cn7firstSecret0000", "Cn7secondSecret000"
	var b bytes.Buffer
	log := newLogger(&b, func() time.Time { return time.Date(2026, 11, 30, 12, 41, 7, 5e6, time.UTC) })
	log.printf("before %s", "anything is known")
	log.mask(secretSnapshot(first))
	log.printf("one %s\x1b[31m", first)
	log.mask(secretSnapshot(second))
	log.printf("two %s\n\ttrace %s", second, second)
	want := "2026-11-30T12:41:07.005Z before anything is known\n2026-11-30T12:41:07.005Z one ••••••\ufffd[31m\n" +
		"2026-11-30T12:41:07.005Z two ••••••\n        trace ••••••\n"
	if b.String() != want {
		t.Errorf("log\n%q\nwant\n%q", b.String(), want)
	}
}

func TestNoLog(t *testing.T) {
	t.Parallel()
	log, closeLog, err := openLog("")
	if err != nil {
		t.Fatal(err)
	}
	log.mask(secretSnapshot("x"))
	log.printf("nothing")
	if err := closeLog(); err != nil {
		t.Error(err)
	}
}

// panicking is a model that panics in one of its methods, with a secret in its mouth.
type panicking struct{ where, secret string }

func (p panicking) Init() tea.Cmd {
	if p.where == "Init" {
		panic(p.secret)
	}
	return nil
}

func (p panicking) Update(tea.Msg) (tea.Model, tea.Cmd) {
	if p.where == "Update" {
		panic(p.secret)
	}
	return p, nil
}

func (p panicking) View() string {
	if p.where == "View" {
		panic(p.secret)
	}
	return "drawn"
}

func TestPanicOfTheScreenIsLoggedMaskedAndEndsIt(t *testing.T) {
	t.Parallel()
	const secret = "Cn7panicSecret0000"
	for _, where := range []string{"Init", "Update", "View"} {
		var b bytes.Buffer
		log := newLogger(&b, time.Now)
		log.mask(secretSnapshot(secret))
		quit := make(chan struct{})
		guard := &panicGuard{Model: panicking{where, "boom " + secret}, log: log, quit: func() { close(quit) }}
		guard.Init()
		guard.Update(nil)
		guard.View()
		select {
		case <-quit:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the program is not asked to end", where)
		}
		if text := b.String(); !strings.Contains(text, "panic: boom ••••••") || !strings.Contains(text, "log_test.go") || strings.Contains(text, secret) {
			t.Errorf("%s: the log is\n%s", where, text)
		}
		if _, cmd := guard.Update(nil); cmd != nil || guard.View() != "" {
			t.Errorf("%s: it goes on after the panic", where)
		}
	}
}
