package loaders

import "slices"

// What harnesses written in Python leave to its library: patterns of fnmatch.

// pythonFnmatch is fnmatch.fnmatchcase (Python 3.12): * any run, ? any character, [...] one of a set, [!...] one that is
// not. There is no escape but a set of one.
func pythonFnmatch(text, pattern string) bool {
	parts := fnmatchParts([]rune(pattern))
	subject := []rune(text)
	at, part := 0, 0
	starAt, starPart := -1, -1
	for at < len(subject) {
		switch {
		case part < len(parts) && parts[part].star:
			starAt, starPart = at, part
			part++
		case part < len(parts) && parts[part].matches(subject[at]):
			at++
			part++
		case starPart >= 0:
			starAt++
			at, part = starAt, starPart+1
		default:
			return false
		}
	}
	for part < len(parts) && parts[part].star {
		part++
	}
	return part == len(parts)
}

// fnmatchPart is one step of a pattern: a star, or one character out of ranges.
type fnmatchPart struct {
	star   bool
	not    bool
	ranges [][2]rune
}

func (p fnmatchPart) matches(r rune) bool {
	in := slices.ContainsFunc(p.ranges, func(x [2]rune) bool { return x[0] <= r && r <= x[1] })
	return in != p.not
}

func fnmatchParts(pattern []rune) []fnmatchPart {
	var out []fnmatchPart
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			if len(out) == 0 || !out[len(out)-1].star {
				out = append(out, fnmatchPart{star: true})
			}
			continue
		case '?':
			out = append(out, fnmatchPart{not: true})
			continue
		case '[':
			end := i + 1
			if end < len(pattern) && pattern[end] == '!' {
				end++
			}
			if end < len(pattern) && pattern[end] == ']' {
				end++
			}
			for end < len(pattern) && pattern[end] != ']' {
				end++
			}
			if end < len(pattern) {
				out = append(out, fnmatchSet(pattern[i+1:end]))
				i = end
				continue
			}
		}
		out = append(out, fnmatchPart{ranges: [][2]rune{{pattern[i], pattern[i]}}})
	}
	return out
}

// fnmatchSet reads what stands between the brackets of a set.
func fnmatchSet(set []rune) fnmatchPart {
	var p fnmatchPart
	if p.not = set[0] == '!'; p.not {
		set = set[1:]
	}
	// Pieces between the hyphens that make ranges: a hyphen at either end, or right behind a range, is one of the set.
	var pieces [][]rune
	start, from := 0, 1
	for {
		hyphen := -1
		if from < len(set) {
			hyphen = slices.Index(set[from:], '-')
		}
		if hyphen < 0 {
			break
		}
		hyphen += from
		pieces = append(pieces, slices.Clone(set[start:hyphen]))
		start, from = hyphen+1, hyphen+3
	}
	switch rest := set[min(start, len(set)):]; {
	case len(rest) > 0 || len(pieces) == 0:
		pieces = append(pieces, slices.Clone(rest))
	default:
		last := len(pieces) - 1
		pieces[last] = append(pieces[last], '-')
	}
	for k := len(pieces) - 1; k > 0; k-- { // a range that runs backwards is empty
		before, after := pieces[k-1], pieces[k]
		if before[len(before)-1] > after[0] {
			pieces[k-1] = append(before[:len(before)-1], after[1:]...)
			pieces = slices.Delete(pieces, k, k+1)
		}
	}
	for k, piece := range pieces {
		for i, r := range piece {
			if i == 0 && k > 0 {
				p.ranges[len(p.ranges)-1][1] = r
				continue
			}
			p.ranges = append(p.ranges, [2]rune{r, r})
		}
	}
	return p
}
