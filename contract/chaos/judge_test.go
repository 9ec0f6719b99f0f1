package chaos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// judgeAll holds what each subscriber was shown against the rows as they were.
func judgeAll(t *testing.T, w *world, c *caller, subscribers []*subscriber) {
	t.Helper()
	told := map[string]string{} // what an id stands for, whoever is told
	places := map[string]int{}  // which version of its row an id tells of, where that is certain
	for _, s := range subscribers {
		j := &judgement{t: t, subscriber: s, world: w, told: told, places: places}
		j.shape()
		for _, r := range w.rows {
			if r.entity == s.entity && (!strings.HasPrefix(r.id, "end-") || r.id == "end-"+s.user) {
				j.row(r)
			}
		}
		j.current(c)
		if j.bad > 0 {
			j.errorf("%d rows do not fit; its connections:\n  %s", j.bad, strings.Join(j.diary, "\n  "))
		}
	}
}

// judgement is one subscriber's.
type judgement struct {
	*subscriber
	t      *testing.T
	world  *world
	told   map[string]string
	places map[string]int
	of     map[string][]frame // by row
	bad    int                // rows that do not fit
}

func (j *judgement) errorf(format string, args ...any) {
	j.t.Helper()
	j.t.Errorf("%s: %s", j.subscriber, fmt.Sprintf(format, args...))
}

// shape judges each frame for itself: each id comes once, and those of a row
// ascend, so that they come in order; an id means the same to everybody; only rls shows values.
func (j *judgement) shape() {
	j.of = map[string][]frame{}
	for _, wrong := range j.wrong {
		j.errorf("%s", wrong)
	}
	last, seen := map[string]string{}, map[string]bool{}
	for _, f := range j.frames {
		d := &f.doc
		row := d.Entity + " " + d.Subject
		if f.id <= last[row] || seen[f.id] {
			j.errorf("id %s of %s comes after %s, or again", f.id, row, last[row])
		}
		if servertest.OneWriter() && f.id <= last[""] {
			j.errorf("id %s comes after %s", f.id, last[""])
		}
		last[row], last[""], seen[f.id] = f.id, f.id, true
		if d.ID != f.id || d.Type != f.event || d.Entity != j.entity || d.Tenant != servertest.Tenant {
			j.errorf("frame %+v contradicts itself", f)
		}
		means := d.Entity + " " + d.Operation + " " + d.Subject
		if before, known := j.told[f.id]; known && before != means {
			j.errorf("id %s is %s here and was %s elsewhere", f.id, means, before)
		}
		j.told[f.id] = means
		if shows := j.rls && f.event != "entity.delete" && f.event != "entity.leave"; shows != (len(d.Data) > 0) {
			j.errorf("frame %s of %s has data: %v", f.event, d.Subject, len(d.Data) > 0)
		}
		if j.world.find(d.Entity, d.Subject) == nil {
			j.errorf("told of row %s, which was never committed", d.Subject)
		}
		j.of[d.Subject] = append(j.of[d.Subject], f)
	}
}

// row judges the frames of one row: they must be its changes in order, each
// that must be told and none that must not.
func (j *judgement) row(r *row) {
	frames := j.of[r.id]
	all := true // each change is told, so that the nth frame is of the nth version
	for i := range r.versions {
		all = all && j.duty(r, i).must
	}
	if all && len(frames) == len(r.versions) {
		for i, f := range frames {
			j.places[f.id] = i
		}
	}
	if !j.fits(r, frames) {
		j.bad++
		if j.bad > 3 {
			return // the first few say all
		}
		j.errorf("row %s\n%s", r.id, j.account(r, frames))
	}
}

// fits reports whether the frames can be the changes of the row. Which change a
// frame tells of is not said where its id is known to this subscriber alone, so
// all ways are tried.
func (j *judgement) fits(r *row, frames []frame) bool {
	// possible[n] says that the first n frames account for the versions so far.
	possible := make([]bool, len(frames)+1)
	possible[0] = true
	for i := range r.versions {
		d := j.duty(r, i)
		next := make([]bool, len(frames)+1)
		for n, ok := range possible {
			if !ok {
				continue
			}
			if !d.must {
				next[n] = true
			}
			if d.may && n < len(frames) && j.tells(frames[n], d, r, i) {
				next[n+1] = true
			}
		}
		possible = next
	}
	return possible[len(frames)]
}

// tells reports whether a frame can be what is told of change i: it shows the
// row as it was then or later, and as this subscriber could see it.
func (j *judgement) tells(f frame, d duty, r *row, i int) bool {
	if place, known := j.places[f.id]; f.event != d.event || (known && place != i) || f.doc.Operation != r.versions[i].op {
		return false
	}
	if len(f.doc.Data) == 0 {
		return true
	}
	shown := decode(j.t, f.doc.Data)
	for _, v := range r.versions[i:] {
		if !v.deleted && j.sees(v) && v.same(shown) {
			return true
		}
	}
	return false
}

func (j *judgement) account(r *row, frames []frame) string {
	var b strings.Builder
	for i, v := range r.versions {
		fmt.Fprintf(&b, "  version %d %+v: %+v\n", i, v, j.duty(r, i))
	}
	for _, f := range frames {
		place, known := j.places[f.id]
		fmt.Fprintf(&b, "  frame %s %s", f.id, f.event)
		if known {
			fmt.Fprintf(&b, " of version %d", place)
		}
		if len(f.doc.Data) > 0 {
			fmt.Fprintf(&b, " shows %+v", decode(j.t, f.doc.Data))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// current compares the last frame of each row that is there with what a read shows.
func (j *judgement) current(c *caller) {
	if !j.rls {
		return
	}
	for id, frames := range j.of {
		r, last := j.world.find(j.entity, id), frames[len(frames)-1]
		if r == nil || len(last.doc.Data) == 0 || !r.live() || !j.duty(r, len(r.versions)-1).must || strings.HasPrefix(id, "end-") {
			continue
		}
		status, body := c.must(j.user, "/data/"+j.entity+"/"+id)
		if status != 200 || string(body) != string(last.doc.Data) {
			j.errorf("row %s: the last frame shows %s, GET answers %d %s", id, last.doc.Data, status, body)
		}
	}
}
