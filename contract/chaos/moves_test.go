package chaos

import (
	"encoding/json"
	"fmt"
	"strings"
)

// pad makes rows long enough to fill the buffers of who does not read.
var pad = strings.Repeat("x", 1500)

func (w *writer) body(id, v string, n int, owner string) string {
	return fmt.Sprintf(`{"id":%q,"w":%d,"v":%q,"n":%d,"owner_id":%q,"pad":%q}`, id, w.number, v, n, owner, pad)
}

func (w *writer) owner() string { return []string{"ann", "bob"}[w.rng.IntN(2)] }

// fresh is a row that is to be, and its body.
func (w *writer) fresh(entity string) (change, string) {
	id := w.next()
	to := version{op: "create", v: id, n: w.rng.IntN(100), owner: w.owner()}
	return change{&row{entity: entity, id: id}, to}, w.body(id, to.v, to.n, to.owner)
}

func (w *writer) create(entity string) {
	if len(w.rows[entity]) > 15 {
		return
	}
	c, body := w.fresh(entity)
	w.attempt([]string{c.to.owner, "sue"}[w.rng.IntN(2)], "POST", "/data/"+entity, body, 201, []change{c})
}

func (w *writer) patch(entity string) {
	r := w.any(entity, (*row).live)
	if r == nil {
		return
	}
	to := r.last()
	to.op, to.v, to.n = "update", w.next(), w.rng.IntN(100)
	w.attempt(w.actor(r), "PATCH", "/data/"+entity+"/"+r.id, fmt.Sprintf(`{"v":%q,"n":%d}`, to.v, to.n), 200, []change{{r, to}})
}

func (w *writer) replace(entity string) {
	r := w.any(entity, (*row).live)
	if r == nil {
		return
	}
	to := version{op: "update", v: w.next(), n: w.rng.IntN(100), owner: r.last().owner}
	w.attempt(w.actor(r), "PUT", "/data/"+entity+"/"+r.id, w.body(r.id, to.v, to.n, to.owner), 200, []change{{r, to}})
}

// give moves a row to another owner, which only staff may.
func (w *writer) give(entity string) {
	r := w.any(entity, (*row).live)
	if r == nil {
		return
	}
	to := r.last()
	to.op, to.v = "update", w.next()
	to.owner = map[string]string{"ann": "bob", "bob": "ann"}[to.owner]
	w.attempt("sue", "PATCH", "/data/"+entity+"/"+r.id, fmt.Sprintf(`{"v":%q,"owner_id":%q}`, to.v, to.owner), 200, []change{{r, to}})
}

func (w *writer) remove(entity string) {
	r := w.any(entity, (*row).live)
	if r == nil {
		return
	}
	to := r.last()
	to.op, to.deleted = "delete", true
	w.attempt(w.actor(r), "DELETE", "/data/"+entity+"/"+r.id, "", 204, []change{{r, to}})
}

func (w *writer) restore(entity string) {
	r := w.any(entity, func(r *row) bool { return r.last().deleted })
	if r == nil {
		return
	}
	to := r.last()
	to.op, to.deleted = "update", false
	w.attempt(w.actor(r), "PATCH", "/data/"+entity+"/"+r.id+"/restore", "", 200, []change{{r, to}})
}

func (w *writer) purge(entity string) {
	r := w.any(entity, func(*row) bool { return true })
	if r == nil {
		return
	}
	to := version{op: "delete", gone: true}
	w.attempt(w.actor(r), "DELETE", "/data/"+entity+"/"+r.id+"/purge", "", 204, []change{{r, to}})
}

// several are the rows that a many-row write of the user touches.
func (w *writer) several(entity, user string, below int, to func(version) version) (query string, changes []change) {
	for _, r := range w.rows[entity] {
		if v := r.last(); r.live() && v.n < below && (entity == "item" || user == "sue" || v.owner == user) {
			changes = append(changes, change{r, to(v)})
		}
	}
	return fmt.Sprintf("/data/%s?filter[w][eq]=%d&filter[n][lt]=%d", entity, w.number, below), changes
}

func (w *writer) patchMany(entity string) {
	user, v := []string{"ann", "bob", "sue"}[w.rng.IntN(3)], w.next()
	n := w.rng.IntN(100)
	path, changes := w.several(entity, user, w.rng.IntN(60), func(is version) version {
		is.op, is.v, is.n = "update", v, n
		return is
	})
	w.counted(w.attempt(user, "PATCH", path, fmt.Sprintf(`{"v":%q,"n":%d}`, v, n), 200, changes), len(changes), path)
}

func (w *writer) removeMany(entity string) {
	user := []string{"ann", "bob", "sue"}[w.rng.IntN(3)]
	path, changes := w.several(entity, user, w.rng.IntN(25), func(is version) version {
		is.op, is.deleted = "delete", true
		return is
	})
	w.counted(w.attempt(user, "DELETE", path, "", 200, changes), len(changes), path)
}

func (w *writer) counted(answer []byte, want int, path string) {
	var said struct{ Changed *int }
	if err := json.Unmarshal(answer, &said); err == nil && said.Changed != nil && *said.Changed != want {
		w.t.Errorf("%s changed %d rows, want %d", path, *said.Changed, want)
	}
}

func (w *writer) bulk(entity string) {
	if len(w.rows[entity]) > 15 {
		return
	}
	var changes []change
	var bodies []string
	for range 1 + w.rng.IntN(5) {
		c, body := w.fresh(entity)
		changes, bodies = append(changes, c), append(bodies, body)
	}
	w.attempt("sue", "POST", "/data/"+entity+"/bulk", "["+strings.Join(bodies, ",")+"]", 201, changes)
}

// transact creates a row, changes it, changes another, and removes a third, in one.
func (w *writer) transact(entity string) {
	c, body := w.fresh(entity)
	again := c.to
	again.op, again.v = "update", w.next()
	writes := []string{
		fmt.Sprintf(`{"op":"create","entity":%q,"data":%s}`, entity, body),
		fmt.Sprintf(`{"op":"update","entity":%q,"id":%q,"data":{"v":%q}}`, entity, c.row.id, again.v),
	}
	changes := []change{c, {c.row, again}}
	if other := w.any("item", (*row).live); other != nil {
		to := other.last()
		to.op, to.v, to.n = "update", w.next(), w.rng.IntN(100)
		writes = append(writes, fmt.Sprintf(`{"op":"update","entity":"item","id":%q,"data":{"v":%q,"n":%d}}`, other.id, to.v, to.n))
		changes = append(changes, change{other, to})
	}
	if third := w.any("note", (*row).live); third != nil {
		to := third.last()
		to.op, to.deleted = "delete", true
		writes = append(writes, fmt.Sprintf(`{"op":"delete","entity":"note","id":%q}`, third.id))
		changes = append(changes, change{third, to})
	}
	w.attempt("sue", "POST", "/data/transaction", "{\"writes\":["+strings.Join(writes, ",")+"]}", 200, changes)
}

// rollBack does what transact does and fails at the end.
func (w *writer) rollBack(entity string) {
	_, body := w.fresh(entity)
	writes := fmt.Sprintf(`{"op":"create","entity":%q,"data":%s}`, entity, body)
	if r := w.any(entity, (*row).live); r != nil {
		writes += fmt.Sprintf(`,{"op":"update","entity":%q,"id":%q,"data":{"v":"never"}},{"op":"delete","entity":%q,"id":%q}`, entity, r.id, entity, r.id)
	}
	w.refused("sue", "POST", "/data/transaction", `{"writes":[`+writes+`,{"op":"update","entity":"item","id":"nobody","data":{"n":1}}]}`, 404)
}

// trespass writes what the row rules refuse.
func (w *writer) trespass(string) {
	r := w.any("note", (*row).live)
	if r == nil {
		return
	}
	owner := r.last().owner
	other := map[string]string{"ann": "bob", "bob": "ann"}[owner]
	path := "/data/note/" + r.id
	w.refused(other, "PATCH", path, `{"v":"stolen"}`, 404)
	w.refused(other, "DELETE", path, "", 404)
	w.refused(owner, "PATCH", path, fmt.Sprintf(`{"v":"never","owner_id":%q}`, other), 403)
	w.refused(other, "POST", "/data/note", w.body(w.next(), "never", 1, owner), 403)
}

// collide creates what is there already, alone and in a bulk.
func (w *writer) collide(entity string) {
	r := w.any(entity, func(*row) bool { return true })
	if r == nil {
		return
	}
	body := w.body(r.id, "never", 1, "ann")
	w.refused("sue", "POST", "/data/"+entity, body, 409)
	w.refused("sue", "POST", "/data/"+entity+"/bulk", "["+w.body(w.next(), "never", 1, "ann")+","+body+"]", 409)
}
