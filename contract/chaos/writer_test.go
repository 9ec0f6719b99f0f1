package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// caller sends requests as one of the users.
type caller struct {
	url    string
	tokens map[string]string
	http   *http.Client
}

// do returns status 0 where no answer came.
func (c *caller) do(user, method, path, body string) (int, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+c.tokens[user])
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, text
}

// must repeats a read until the server is there to answer it; after a minute it
// gives up, and the caller sees no answer.
func (c *caller) must(user, path string) (int, []byte) {
	for until := time.Now().Add(time.Minute); ; servertest.Pass(context.Background(), 20*time.Millisecond) {
		status, body := c.do(user, "GET", path, "")
		if (status != 0 && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout) || time.Now().After(until) {
			return status, body
		}
	}
}

// writer changes rows of its own, and knows each version of them.
type writer struct {
	*caller
	t      *testing.T
	world  *world
	number int
	rng    *rand.Rand
	rows   map[string][]*row // by entity, none that is gone
	made   int
	unsure int
}

func newWriter(t *testing.T, w *world, number int, address string, tokens map[string]string, rng *rand.Rand) *writer {
	c := &caller{url: address, tokens: tokens, http: &http.Client{Transport: &http.Transport{}}}
	return &writer{caller: c, t: t, world: w, number: number, rng: rng, rows: map[string][]*row{}}
}

func (w *writer) close() { w.http.CloseIdleConnections() }

// next returns a text that no version of any row has yet.
func (w *writer) next() string {
	w.made++
	return fmt.Sprintf("w%d-%d", w.number, w.made)
}

func (w *writer) work(ctx context.Context) {
	moves := []func(entity string){
		w.create, w.create, w.patch, w.patch, w.patch, w.replace, w.give, w.give, w.remove, w.restore, w.restore, w.purge,
		w.patchMany, w.removeMany, w.bulk, w.transact, w.rollBack, w.trespass, w.collide,
	}
	for ctx.Err() == nil {
		moves[w.rng.IntN(len(moves))]([]string{"item", "note"}[w.rng.IntN(2)])
	}
}

// any picks one of the rows for which fit holds; nil where there is none.
func (w *writer) any(entity string, fit func(*row) bool) *row {
	var fitting []*row
	for _, r := range w.rows[entity] {
		if fit(r) {
			fitting = append(fitting, r)
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	return fitting[w.rng.IntN(len(fitting))]
}

// actor is somebody who may change the row.
func (w *writer) actor(r *row) string {
	if r.entity == "note" && w.rng.IntN(2) == 0 {
		return r.last().owner
	}
	if r.entity == "note" {
		return "sue"
	}
	return []string{"ann", "bob", "sue"}[w.rng.IntN(3)]
}

// attempt sends a request that makes the changes or, where the server dies, does not.
func (w *writer) attempt(user, method, path, body string, want int, changes []change) []byte {
	status, answer := w.do(user, method, path, body)
	switch status {
	case want:
	case 0, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		w.unsure++
		if len(changes) == 0 || !w.happened(changes[len(changes)-1]) { // the last: what it leaves, nothing before it did
			return nil
		}
	default:
		w.t.Errorf("%s %s %s as %s: status %d, want %d: %s", method, path, body, user, status, want, answer)
		return nil
	}
	w.commit(user, changes)
	return answer
}

// commit notes changes that were made.
func (w *writer) commit(user string, changes []change) {
	for _, c := range changes {
		c.to.actor = user
		if len(c.row.versions) == 0 {
			w.world.add(c.row)
			w.rows[c.row.entity] = append(w.rows[c.row.entity], c.row)
		}
		c.row.versions = append(c.row.versions, c.to)
	}
	for entity, rows := range w.rows {
		kept := rows[:0]
		for _, r := range rows {
			if !r.last().gone {
				kept = append(kept, r)
			}
		}
		w.rows[entity] = kept
	}
}

// refused sends a request that must be refused, and so changes nothing.
func (w *writer) refused(user, method, path, body string, want int) {
	status, answer := w.do(user, method, path, body)
	if status != want && status != 0 && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
		w.t.Errorf("%s %s %s as %s: status %d, want %d: %s", method, path, body, user, status, want, answer)
	}
}

// happened looks whether a change was made whose answer was lost.
func (w *writer) happened(c change) bool {
	is := w.stored(c.row)
	switch {
	case is.same(c.to):
		return true
	case !is.same(c.row.last()):
		w.t.Errorf("%s/%s is %+v: neither %+v nor %+v", c.row.entity, c.row.id, is, c.row.last(), c.to)
	}
	return false
}

// stored reads a row as staff.
func (w *writer) stored(r *row) version {
	path := "/data/" + r.entity
	if status, body := w.must("sue", path+"/"+r.id); status == http.StatusOK {
		return decode(w.t, body)
	}
	_, body := w.must("sue", path+"?deleted=true&filter[id][eq]="+url.QueryEscape(r.id))
	var page struct{ Items []json.RawMessage }
	if err := json.Unmarshal(body, &page); err != nil {
		w.t.Errorf("%s: %v: %s", path, err, body)
	}
	if len(page.Items) == 0 {
		return version{gone: true}
	}
	v := decode(w.t, page.Items[0])
	v.deleted = true
	return v
}

func decode(t *testing.T, body []byte) version {
	var doc struct {
		V       string
		N       int
		OwnerID string `json:"owner_id"`
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&doc); err != nil {
		t.Errorf("no row: %v: %s", err, body)
	}
	return version{v: doc.V, n: doc.N, owner: doc.OwnerID}
}

// finish writes the last row of each kind, which each subscriber waits for.
func (w *writer) finish(t *testing.T) {
	t.Helper()
	for _, entity := range []string{"item", "note"} {
		for _, user := range []string{"ann", "bob", "sue"} {
			r := &row{entity: entity, id: "end-" + user}
			w.attempt(user, "POST", "/data/"+entity, w.body(r.id, "begin", 99, user), 201, []change{{r, version{op: "create", v: "begin", n: 99, owner: user}}})
			w.attempt(user, "PATCH", "/data/"+entity+"/"+r.id, `{"v":"end","n":100}`, 200, []change{{r, version{op: "update", v: "end", n: 100, owner: user}}})
		}
	}
}

// verify reads every row: what was acknowledged is there, and nothing else.
func (w *writer) verify(t *testing.T) {
	t.Helper()
	counts := map[string]int{}
	for key, r := range w.world.rows {
		if is := w.stored(r); !is.same(r.last()) {
			t.Errorf("%s is %+v, want %+v", key, is, r.last())
		}
		if r.live() {
			counts[r.entity]++
		}
	}
	for entity, n := range counts {
		_, body := w.must("sue", "/data/"+entity+"?limit=1&count=true")
		var page struct{ Total int }
		if err := json.Unmarshal(body, &page); err != nil || page.Total != n {
			t.Errorf("there are %d rows of %s, want %d", page.Total, entity, n)
		}
	}
}
