package engine

import "slices"

// ClaimKey is one acquire of this client and what comes of it, from asking to the end of the hold.
type ClaimKey uint64

// The local queue: claims of one session that share a name take turns, because to the server asking twice is asking once. A
// claim stands in the lines of all its names from asking until its hold has ended; it may ask the server when it is first in
// all of them. All enter their lines at once, so nobody waits in a circle.
type turns map[string][]ClaimKey

// Enters the lines. Answers whether the claim is first in all of them.
func (t turns) join(claim ClaimKey, names []string) bool {
	isFirst := true
	for _, name := range names {
		isFirst = isFirst && len(t[name]) == 0
		t[name] = append(t[name], claim)
	}
	return isFirst
}

func (t turns) isFirst(claim ClaimKey, names []string) bool {
	for _, name := range names {
		if line := t[name]; len(line) == 0 || line[0] != claim {
			return false
		}
	}
	return true
}

// The claim that is first in the line of one of these names, if any is.
func (t turns) firstInWay(names []string) (ClaimKey, bool) {
	for _, name := range names {
		if line := t[name]; len(line) > 0 {
			return line[0], true
		}
	}
	return 0, false
}

// Leaves the lines. Answers which claims are first in one of them now.
func (t turns) leave(claim ClaimKey, names []string) []ClaimKey {
	var next []ClaimKey
	for _, name := range names {
		line := slices.DeleteFunc(t[name], func(other ClaimKey) bool { return other == claim })
		if len(line) == 0 {
			delete(t, name)
			continue
		}
		t[name] = line
		if !slices.Contains(next, line[0]) {
			next = append(next, line[0])
		}
	}
	return next
}
