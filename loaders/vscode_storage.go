package loaders

import (
	"crypto/md5"
	"encoding/hex"
	"path/filepath"
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// The storage of VS Code and of the editors made from it: state.vscdb, one for the user and one for each folder.

// codeStorage is where such an editor keeps its data.
type codeStorage struct {
	env    *Env
	r      *Reader
	user   string // folder User of the editor's data
	shared string // database that all its windows and versions share; "" where there is none
}

// codeDataDir is the folder of a product's data (VS Code 1.119 platform/environment/node/userDataPath.ts).
func codeDataDir(env *Env, product string) string {
	if dir := env.Var("VSCODE_PORTABLE"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "user-data")
	}
	if dir := env.Var("VSCODE_APPDATA"); filepath.IsAbs(dir) {
		return filepath.Join(dir, product)
	}
	return filepath.Join(env.AppData(), product)
}

func (s *codeStorage) global() string { return filepath.Join(s.user, "globalStorage", "state.vscdb") }

// workspace is the database of the folder that a session starts in: its name is the MD5 of the folder's path and of what tells
// a new folder of the same name apart (VS Code platform/workspaces/node/workspaces.ts).
func (s *codeStorage) workspace() string {
	info, err := s.r.Stat(s.env.Project)
	if err != nil {
		return ""
	}
	path := filepath.Clean(s.env.Project)
	if len(path) > 1 && path[1] == ':' {
		path = strings.ToLower(path[:1]) + path[1:]
	}
	sum := md5.Sum([]byte(path + folderSalt(info)))
	return filepath.Join(s.user, "workspaceStorage", hex.EncodeToString(sum[:]), "state.vscdb")
}

// codeTrust is what the databases say about the folder.
type codeTrust struct {
	decision model.Decision // loads: trusted; waits: not; unknown: no database tells
	at       model.Location
}

const codeTrustKey = "content.trust.model.key"

// trust looks for the folder among the trusted ones. The longest folder that holds it decides; none means that it is not
// trusted. Since 1.119 the list is in the shared database, before in the user's.
func (s *codeStorage) trust() codeTrust {
	out := codeTrust{}
	for _, path := range []string{s.shared, s.global()} {
		if path == "" {
			continue
		}
		values, ok := s.r.itemTable(path, model.ScopeUser, codeTrustKey)
		if !ok {
			if s.r.Exists(path) {
				return codeTrust{at: inDatabase(path, codeTrustKey)} // it may say more than the next one
			}
			continue
		}
		out = codeTrust{decision: model.DecisionWaits, at: inDatabase(path, codeTrustKey)}
		list := values[codeTrustKey].Get("uriTrustInfo")
		if !list.Exists() {
			continue
		}
		longest := -1
		for _, item := range list.Elements() {
			folder, _ := item.Lookup("uri", "path").Str()
			if scheme, _ := item.Lookup("uri", "scheme").Str(); scheme != "file" || !s.holds(folder) || len(folder) <= longest {
				continue
			}
			longest = len(folder)
			out.decision = model.DecisionWaits
			if trusted, _ := item.Get("trusted").Bool(); trusted {
				out.decision = model.DecisionLoads
			}
		}
		return out
	}
	return out
}

// holds tells whether the folder of a file URI is the session's folder or one above it.
func (s *codeStorage) holds(folder string) bool {
	project := filepath.ToSlash(filepath.Clean(s.env.Project))
	if !strings.HasPrefix(project, "/") {
		project = "/" + project
	}
	folder = strings.TrimSuffix(folder, "/")
	if s.env.GOOS != "linux" { // names have no letter case there
		project, folder = strings.ToLower(project), strings.ToLower(folder)
	}
	return project == folder || strings.HasPrefix(project, folder+"/")
}

// itemTexts reads a list of texts of a database.
func itemTexts(v jsonc.Value) []string {
	list, _ := v.Strings()
	if v.Kind() != jsonc.Array {
		return nil
	}
	return list
}
