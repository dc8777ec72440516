package tomledit

import "strconv"

// Values calls visit for every scalar of the file, in file order: with the keys that lead to it (elements of arrays are
// "0", "1", ...; headers of an array of tables give no number) and the bytes from start to end that hold it, quotes
// included. path is only good during the call.
func (d *Document) Values(visit func(path []string, start, end int)) {
	var table []string
	for i := range d.statements {
		s := &d.statements[i]
		if s.kind != keyStatement {
			table = names(s.key)
			continue
		}
		visitValues(append(table[:len(table):len(table)], names(s.key)...), s.value, visit)
	}
}

func visitValues(path []string, v *value, visit func(path []string, start, end int)) {
	switch v.kind {
	case arrayValue:
		for i, e := range v.elements {
			visitValues(append(path[:len(path):len(path)], strconv.Itoa(i)), e, visit)
		}
	case inlineTable:
		for _, m := range v.members {
			visitValues(append(path[:len(path):len(path)], names(m.key)...), m.value, visit)
		}
	default:
		visit(path, v.start, v.end)
	}
}
