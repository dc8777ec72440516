package demo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"fusebox/mcpclient"
	"fusebox/mcpclient/demo"
	"fusebox/model"

	"go.uber.org/goleak"
)

const kindVariable = "DEMO_KIND"

func TestMain(m *testing.M) {
	if kind := os.Getenv(kindVariable); kind != "" {
		if err := demo.Serve(kind, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestServersOnStdio(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind    string
		outcome model.Outcome
		tools   int
		noise   bool
	}{
		{demo.Healthy, model.OutcomeOK, 5, false},
		{demo.Slow, model.OutcomeOK, 5, false},
		{demo.Noisy, model.OutcomeOK, 5, true},
		{demo.Paging, model.OutcomeOK, 120, false},
		{demo.Crashing, model.OutcomeError, 0, false},
		{demo.SignIn, model.OutcomeError, 0, false},
		{"nonsense", model.OutcomeError, 0, false},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			r := mcpclient.List(context.Background(), mcpclient.Target{Transport: model.TransportStdio, Command: self,
				Env: []string{kindVariable + "=" + c.kind}}, mcpclient.Options{Grace: 300 * time.Millisecond})
			if r.Observation.Outcome != c.outcome || len(r.Tools) != c.tools || (r.Observation.Noise > 0) != c.noise {
				t.Errorf("%+v, %d tools, %q", r.Observation, len(r.Tools), r.Output.Stderr)
			}
			if c.kind == demo.Crashing && (r.Observation.Word != "exit 1" || !strings.Contains(r.Observation.Reason.Text, demo.ErrCrash.Error())) {
				t.Errorf("%+v", r.Observation)
			}
			if c.outcome == model.OutcomeOK && r.Observation.Protocol != "2026-07-28" && c.kind != demo.Slow {
				t.Errorf("protocol %q", r.Observation.Protocol)
			}
		})
	}
}

func TestServersOverHTTP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    string
		outcome model.Outcome
		word    string
		tools   int
	}{
		{demo.Healthy, model.OutcomeOK, "", 5},
		{demo.Paging, model.OutcomeOK, "", 120},
		{demo.Crashing, model.OutcomeError, "500", 0},
		{demo.SignIn, model.OutcomeUnauthenticated, "sign in", 0},
	} {
		handler, err := demo.Handler(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(handler)
		r := mcpclient.List(context.Background(), mcpclient.Target{Transport: model.TransportHTTP, URL: s.URL}, mcpclient.Options{})
		s.Close()
		if r.Observation.Outcome != c.outcome || r.Observation.Word != c.word || len(r.Tools) != c.tools {
			t.Errorf("%s: %+v, %d tools", c.kind, r.Observation, len(r.Tools))
		}
	}
	if _, err := demo.Handler("nonsense"); err == nil {
		t.Error("no error")
	}
}

func TestServeEndsWithItsInput(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{demo.Healthy, demo.Slow, demo.Noisy, demo.Crashing, demo.Paging, demo.SignIn} {
		err := demo.Serve(kind, strings.NewReader(""), io.Discard)
		switch kind {
		case demo.Crashing:
			if !errors.Is(err, demo.ErrCrash) {
				t.Error(err)
			}
		case demo.SignIn:
			if err == nil {
				t.Error("no error")
			}
		default:
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}
