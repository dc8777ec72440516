package loaders

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"fusebox/loaders/githistory"
	"fusebox/model"
)

// EarlierTime is how long the history of the files of a harness is looked at.
const EarlierTime = 2 * time.Second

// Earlier is what an entry said when the consent that does not fit any more was given to it.
type Earlier struct {
	Definition *model.Definition
	Commit     string // the commit that has it, its first seven digits
	At         time.Time
}

var errNoConsent = errors.New("no consent to another definition of it is recorded")

// Earlier looks for what the entry of a cell with ReasonApprovalChanged was, in the git history of its file. The record itself
// decides: of the versions of the file the newest counts with which the harness would take the consent for the entry. Nothing
// is written or run, and the snapshots of the loader stay as they are. Without an answer the error says why there is none.
func (l *Loader) Earlier(ctx context.Context, harness model.HarnessID, name string) (*Earlier, error) {
	for i := range l.harnesses {
		if l.harnesses[i].ID == harness {
			return l.earlierOf(ctx, l.harnesses[i], name)
		}
	}
	return nil, errNoConsent
}

func (l *Loader) earlierOf(ctx context.Context, h Harness, name string) (*Earlier, error) {
	cache := NewCache()
	r := NewReader(l.env, cache)
	now := cellOf(resolveColumn(h, l.env, r), name)
	if now == nil || now.Reason.Code != model.ReasonApprovalChanged || !filepath.IsAbs(now.Source.Path) {
		return nil, errNoConsent
	}
	file := realPath(now.Source.Path)
	repository, err := githistory.Find(githistory.Access{Open: openForReading, Owner: ownerOf, UID: l.env.UID}, file)
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	head, err := repository.Head()
	if err != nil {
		return nil, err
	}
	key := earlierKey{h.ID, name, r.fingerprint(), head}
	return l.earlier.answer(key, func() (*Earlier, error) {
		ctx, cancel := context.WithTimeout(ctx, EarlierTime)
		defer cancel()
		versions, err := repository.Versions(ctx)
		if err != nil && len(versions) == 0 {
			return nil, err
		}
		entry := cache.load(file)
		for _, v := range versions {
			if bytes.Equal(v.Data, entry.data) {
				continue
			}
			if ended := ctx.Err(); ended != nil {
				return nil, ended
			}
			then := cellOf(resolveColumn(h, l.env, newPlannedReader(l.env, cache, map[string][]byte{file: v.Data})), name)
			if consentFits(now, then) {
				return &Earlier{Definition: then.Definition, Commit: v.Commit[:7], At: v.At}, nil
			}
		}
		if err == nil {
			err = errors.New("no earlier version of the file fits what is recorded")
		}
		return nil, err
	})
}

// consentFits tells whether the record that does not fit a cell now fits the cell of an earlier version of the same file.
func consentFits(now, then *model.Cell) bool {
	if then == nil || then.Definition == nil || then.Source.Path != now.Source.Path || then.Scope != now.Scope {
		return false
	}
	record := now.Reason.DecidedBy.Path
	if then.Decision == model.DecisionOff && then.Reason.Code == model.ReasonRejected {
		return then.Reason.DecidedBy.Path == record
	}
	return then.Consent.Path == record // also of what is off, or does not load for another reason
}

// fingerprint is of all files that were read, by path and bytes.
func (r *Reader) fingerprint() [sha256.Size]byte {
	sum := sha256.New()
	for _, f := range r.files {
		fmt.Fprintf(sum, "%q %s %d\n", f.Path, f.Status, len(f.Data))
		sum.Write(f.Data)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// earlierKey is what an answer depends on, besides the environment, which does not change.
type earlierKey struct {
	harness model.HarnessID
	name    string
	files   [sha256.Size]byte
	head    string
}

// earlierMemo keeps the answers of Earlier: a history is looked at once for the same files and the same HEAD.
type earlierMemo struct {
	mu      sync.Mutex
	answers map[earlierKey]earlierAnswer
}

type earlierAnswer struct {
	earlier *Earlier
	err     error
}

// answer returns a kept answer, or finds and keeps it. An answer that was cut short by the clock is not kept.
func (m *earlierMemo) answer(key earlierKey, find func() (*Earlier, error)) (*Earlier, error) {
	m.mu.Lock()
	kept, ok := m.answers[key]
	m.mu.Unlock()
	if ok {
		return kept.earlier, kept.err
	}
	earlier, err := find()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return earlier, err
	}
	const most = 100
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil || len(m.answers) >= most {
		m.answers = map[earlierKey]earlierAnswer{}
	}
	m.answers[key] = earlierAnswer{earlier, err}
	return earlier, err
}
