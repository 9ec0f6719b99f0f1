package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

func TestPendingShowsADeliveryWithoutItsBody(t *testing.T) {
	failed := queued(1, store.Failed)
	failed.Attempts, failed.LastStatus, failed.LastError = 12, 503, "503 <Service> Unavailable"
	claimed := queued(2, store.Claimed)
	claimed.Topic = "entity.a&b"
	h := desk(t, newBox(), newBox(queued(3, store.Pending), claimed, failed))
	answers(t, ask(t, h, "pending", ""), `{"items":[`+
		`{"id":"U01M2P1R18V26CMVBZ1DC000001","target":"billing","topic":"entity.order","event":"entity.update","tenant":"acme:test:shop:t1","entity":"order","subject":"1",`+
		`"status":"failed","attempts":12,"nextat":null,"laststatus":503,"lasterror":"503 <Service> Unavailable","created":"2026-09-17T02:25:13Z"},`+
		`{"id":"U01M2P1R18V26CMVBZ1DC000002","target":"billing","topic":"entity.a&b","event":"entity.update","tenant":"acme:test:shop:t1","entity":"order","subject":"2",`+
		`"status":"claimed","attempts":0,"nextat":null,"laststatus":null,"lasterror":null,"created":"2026-09-17T02:25:14Z"},`+
		`{"id":"U01M2P1R18V26CMVBZ1DC000003","target":"billing","topic":"entity.order","event":"entity.update","tenant":"acme:test:shop:t1","entity":"order","subject":"3",`+
		`"status":"pending","attempts":0,"nextat":"2026-09-17T03:25:12Z","laststatus":null,"lasterror":null,"created":"2026-09-17T02:25:15Z"}`+
		`],"next":null}`)
}

// list is the part of an answer that a walk looks at.
type list struct {
	Items []struct{ ID, Status, Target string }
	Next  *string
}

func walk(t *testing.T, h http.Handler, query string, limit int) (ids []string) {
	t.Helper()
	cursor := ""
	for {
		got := ask(t, h, fmt.Sprintf("pending?limit=%d%s%s", limit, query, cursor), "")
		var page list
		if err := json.Unmarshal(got.Body.Bytes(), &page); err != nil || got.Code != 200 {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		for _, d := range page.Items {
			ids = append(ids, d.ID)
		}
		if page.Next == nil {
			return ids
		}
		if len(page.Items) != limit {
			t.Fatalf("a page of %d with a next one, want %d", len(page.Items), limit)
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
}

// However long the pages: all datastores' deliveries, each once, failed ones first.
func TestPagesGoThroughAllDatastoresInOneOrder(t *testing.T) {
	first := newBox(queued(1, store.Pending), queued(4, store.Failed), queued(5, store.Failed), queued(8, store.Claimed))
	second := newBox(queued(2, store.Failed), queued(3, store.Pending), queued(6, store.Pending), queued(7, store.Failed))
	h := desk(t, newBox(queued(9, store.Failed)), first, second)
	for query, numbers := range map[string][]int{
		"":                {2, 4, 5, 7, 1, 3, 6, 8},
		"&status=failed":  {2, 4, 5, 7},
		"&status=pending": {1, 3, 6},
		"&status=claimed": {8},
		"&target=billing": {2, 4, 5, 7, 1, 3, 6, 8},
	} {
		var want []string
		for _, n := range numbers {
			want = append(want, uid(n))
		}
		for limit := 1; limit <= 9; limit++ {
			if got := walk(t, h, query, limit); !slices.Equal(got, want) {
				t.Errorf("%q by %d:\ngot  %v\nwant %v", query, limit, got, want)
			}
		}
	}
}

func nextOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var page list
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.Next == nil {
		t.Fatalf("no next in %s", w.Body)
	}
	return *page.Next
}

func TestACursorBelongsToOneList(t *testing.T) {
	h := desk(t, newBox(queued(1, store.Failed), queued(2, store.Failed)), newBox(queued(1, store.Failed), queued(2, store.Failed), queued(3, store.Pending)))
	cursor := nextOf(t, ask(t, h, "pending?limit=1", ""))
	theirs := nextOf(t, get(t, h, events+"pending?limit=1", there+" operator"))
	for name, query := range map[string]string{
		"of another status": "status=failed&cursor=" + cursor,
		"of another target": "target=billing&cursor=" + cursor,
		"of another tenant": "cursor=" + theirs,
		"cut":               "cursor=" + cursor[:len(cursor)-2],
		"empty":             "cursor=",
		"of another place":  "cursor=B" + cursor[1:],
		"with a tail":       "cursor=" + cursor + "AA",
		"with white space":  "cursor=" + cursor + "%0A",
		"of nothing":        "cursor=AAAA",
	} {
		if got := ask(t, h, "pending?"+query, ""); got.Code != 400 || !strings.Contains(got.Body.String(), `"code":"invalid_cursor"`) {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	if got := ask(t, h, "pending?limit=2&cursor="+cursor, ""); got.Code != 200 {
		t.Errorf("with another limit: %d %s", got.Code, got.Body)
	}
}

// FuzzCursor: what was not handed out is refused, whatever it is.
func FuzzCursor(f *testing.F) {
	genuine := ""
	f.Add("")
	f.Add("AVUwMU0yUDFSMThWMjZDTVZCWjFEQzAwMDAwMQ")
	f.Fuzz(func(t *testing.T, cursor string) {
		h := desk(t, newBox(), newBox(queued(1, store.Failed), queued(2, store.Failed)))
		if genuine == "" {
			genuine = nextOf(t, ask(t, h, "pending?limit=1", ""))
		}
		want := 400
		if cursor == genuine {
			want = 200
		}
		if got := ask(t, h, "pending?cursor="+url.QueryEscape(cursor), ""); got.Code != want {
			t.Errorf("%q: %d, want %d", cursor, got.Code, want)
		}
	})
}

func TestStatsAddUpTheDatastores(t *testing.T) {
	first, second := newBox(), newBox()
	ordered := billing()
	ordered.Name, ordered.URL, ordered.Ordered, ordered.Breaker = "audit", "http://10.0.0.7:8080/in", true, "probing"
	busy, open := billing(), billing()
	busy.InFlight, open.InFlight, open.Breaker = 3, 2, "open"
	first.stats = outbox.Stats{
		Depths: []store.Depth{
			{Target: "billing", Pending: 10, Claimed: 3, Failed: 1, OldestDue: since.Add(time.Minute)},
			{Target: "audit", Pending: 4, Blocked: 3, OldestDue: since.Add(time.Second)},
			{Target: "gone", Failed: 7},
		},
		Counters: outbox.Counters{Counts: outbox.Counts{Attempted: 10, Delivered: 6, Retried: 3, Failed: 1, LeaseLost: 2}},
		Targets:  []outbox.TargetStats{busy, ordered},
	}
	second.stats = outbox.Stats{
		Depths:   []store.Depth{{Target: "billing", Pending: 1, Claimed: 2, OldestDue: since}, {Target: "gone", Failed: 1}},
		Counters: outbox.Counters{Counts: outbox.Counts{Attempted: 1, Delivered: 1}},
		Targets:  []outbox.TargetStats{open, ordered},
	}
	answers(t, ask(t, desk(t, newBox(), first, second), "stats", ""), `{"depth":{"pending":15,"claimed":5,"failed":9},`+
		`"counters":{"attempted":11,"delivered":7,"retried":3,"failed":1,"leaselost":2},"oldestdue":"2026-09-17T02:25:12Z","targets":[`+
		`{"name":"billing","url":"https://receiver.example/hooks","timeout":"10s","topics":["entity.order"],"maxinflight":8,"inflight":5,"blocked":0,`+
		`"depth":{"pending":11,"claimed":5,"failed":1},"oldestdue":"2026-09-17T02:25:12Z","breaker":"open"},`+
		`{"name":"audit","url":"http://10.0.0.7:8080/in","timeout":"10s","topics":["entity.order"],"order":"row","maxinflight":8,"inflight":0,"blocked":3,`+
		`"depth":{"pending":4,"claimed":0,"failed":0},"oldestdue":"2026-09-17T02:25:13Z","breaker":"probing"}`+
		`],"undeclared":[{"name":"gone","depth":{"pending":0,"claimed":0,"failed":8}}]}`)
}

func TestRequeueMovesFailedOnesAlone(t *testing.T) {
	first := newBox(queued(1, store.Failed), queued(2, store.Pending))
	second := newBox(queued(3, store.Claimed), queued(4, store.Failed))
	theirs := newBox(queued(5, store.Failed))
	h := desk(t, theirs, first, second)
	ids := fmt.Sprintf(`{"ids":[%q,%q,%q,%q,%q,%q,%q]}`, uid(4), uid(1), uid(2), uid(3), uid(5), uid(6), uid(4))
	answers(t, ask(t, h, "requeue", ids), fmt.Sprintf(`{"more":false,"requeued":[%q,%q],"skipped":[`+
		`{"id":%q,"reason":"pending"},{"id":%q,"reason":"claimed"},{"id":%q,"reason":"unknown"},{"id":%q,"reason":"unknown"}]}`,
		uid(1), uid(4), uid(2), uid(3), uid(5), uid(6)))
	if theirs.queue[0].Status != store.Failed {
		t.Error("a delivery of another tenant was moved")
	}
	answers(t, ask(t, h, "requeue", fmt.Sprintf(`{"ids":[%q]}`, uid(1))), fmt.Sprintf(`{"more":false,"requeued":[],"skipped":[{"id":%q,"reason":"pending"}]}`, uid(1)))
}

func TestRequeueOfATime(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []int
	}{
		"all of the target":  {`{"target":"billing"}`, []int{1, 2, 3, 4}},
		"since, including":   {`{"target":"billing","since":"2026-09-17T02:25:14Z"}`, []int{2, 3, 4}},
		"until, excluding":   {`{"target":"billing","until":"2026-09-17T02:25:15.000000Z"}`, []int{1, 2}},
		"in another zone":    {`{"target":"billing","since":"2026-09-17T04:25:14+02:00","until":"2026-09-17T04:25:16+02:00"}`, []int{2, 3}},
		"a time of no event": {`{"target":"billing","since":"2030-01-01T00:00:00Z"}`, []int{}},
	} {
		t.Run(name, func(t *testing.T) {
			other := queued(7, store.Failed)
			other.Target = "audit"
			first := newBox(queued(1, store.Failed), queued(3, store.Failed), queued(5, store.Pending), other)
			second := newBox(queued(2, store.Failed), queued(4, store.Failed))
			var got struct {
				Requeued []string
				Skipped  []any
				More     bool
			}
			w := ask(t, desk(t, newBox(queued(1, store.Failed)), first, second), "requeue", c.body)
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || got.More || got.Skipped == nil || len(got.Skipped) > 0 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			want := []string{}
			for _, n := range c.want {
				want = append(want, uid(n))
			}
			slices.Sort(got.Requeued)
			if !slices.Equal(got.Requeued, want) {
				t.Errorf("got %v, want %v", got.Requeued, want)
			}
		})
	}
}

// A range moves a thousand at a time, over all datastores, and says when it is not done.
func TestARangeEndsAtItsLimit(t *testing.T) {
	first, second := newBox(), newBox()
	for n := range 1000 {
		first.queue = append(first.queue, queued(n, store.Failed))
	}
	for n := range 500 {
		second.queue = append(second.queue, queued(1000+n, store.Failed))
	}
	h := desk(t, newBox(), first, second)
	for i, want := range []struct {
		moved int
		more  bool
	}{{1000, true}, {500, false}, {0, false}} {
		var got struct {
			Requeued []string
			More     bool
		}
		if err := json.Unmarshal(ask(t, h, "requeue", `{"target":"billing"}`).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Requeued) != want.moved || got.More != want.more {
			t.Errorf("request %d: %d moved, more %v, want %+v", i, len(got.Requeued), got.More, want)
		}
	}
}

// A queue that is too long to be counted in time can be put back all the same.
func TestARangeIsPutBackWithoutACount(t *testing.T) {
	own := newBox(queued(1, store.Failed))
	own.uncounted = fmt.Errorf("count deliveries: %w", store.ErrTimeout)
	h := desk(t, newBox(), own)
	answers(t, ask(t, h, "requeue", `{"target":"billing"}`), fmt.Sprintf(`{"more":false,"requeued":[%q],"skipped":[]}`, uid(1)))
}

func TestSkipRemovesWhatWaits(t *testing.T) {
	theirs := newBox(queued(4, store.Failed))
	own := newBox(queued(1, store.Failed), queued(2, store.Pending), queued(3, store.Claimed))
	h := desk(t, theirs, own)
	answers(t, ask(t, h, "skip", fmt.Sprintf(`{"ids":[%q,%q,%q,%q]}`, uid(1), uid(2), uid(3), uid(4))),
		fmt.Sprintf(`{"removed":[%q,%q],"skipped":[{"id":%q,"reason":"claimed"},{"id":%q,"reason":"unknown"}]}`, uid(1), uid(2), uid(3), uid(4)))
	if len(theirs.queue) != 1 || len(own.queue) != 1 {
		t.Errorf("%d left of another tenant's, %d of the own", len(theirs.queue), len(own.queue))
	}
}

func TestDrainAnswersWhatWasDone(t *testing.T) {
	does := func(d outbox.Drained) func(context.Context) (outbox.Drained, error) {
		return func(context.Context) (outbox.Drained, error) { return d, nil }
	}
	first, second, theirs := newBox(), newBox(), newBox()
	first.drain, second.drain = does(outbox.Drained{Attempted: 5, Delivered: 2, Retried: 2, Failed: 1}), does(outbox.Drained{Attempted: 1, Delivered: 1})
	theirs.drain = func(context.Context) (outbox.Drained, error) {
		t.Error("another tenant's queue was drained")
		return outbox.Drained{}, nil
	}
	h := desk(t, theirs, first, second)
	want := `{"attempted":6,"delivered":3,"retried":2,"failed":1,"more":false}`
	answers(t, ask(t, h, "drain", "{}"), want)
	answers(t, send(t, h, "drain", "", map[string]string{"Authorization": here + " operator"}), want)
}

func TestADrainThatTakesTooLongSaysSo(t *testing.T) {
	slow, quick := newBox(), newBox()
	slow.drain = func(ctx context.Context) (outbox.Drained, error) {
		<-ctx.Done()
		return outbox.Drained{Attempted: 2, Delivered: 2}, fmt.Errorf("drain: %w", ctx.Err())
	}
	quick.drain = func(context.Context) (outbox.Drained, error) { return outbox.Drained{Attempted: 1, Failed: 1}, nil }
	c := deskConfig(newBox(), slow, quick)
	c.DrainTime = time.Millisecond
	got := ask(t, api(t, c), "drain", "{}")
	if want := `{"attempted":3,"delivered":2,"retried":0,"failed":1,"more":true}` + "\n"; got.Code != 202 || got.Body.String() != want {
		t.Errorf("got %d %s, want 202 %s", got.Code, got.Body, want)
	}
}

func TestATestSaysHowTheTargetAnswered(t *testing.T) {
	own := newBox()
	h := desk(t, newBox(), own)
	for _, c := range []struct {
		result post.Result
		want   string
	}{
		{post.Result{Class: post.Accepted, Status: 204, Took: 31 * time.Millisecond}, `"accepted":true,"status":204,"milliseconds":31,"error":null}`},
		{post.Result{Class: post.Refuse, Status: 401, Took: time.Second, Error: "401 Unauthorized"}, `"accepted":false,"status":401,"milliseconds":1000,"error":"401 Unauthorized"}`},
		{post.Result{Class: post.Retry, Took: time.Second, Error: "connection refused"}, `"accepted":false,"status":null,"milliseconds":1000,"error":"connection refused"}`},
	} {
		own.answer = c.result
		answers(t, ask(t, h, "test", `{"target":"billing"}`), `{"target":"billing",`+c.want)
	}
}

func TestAttemptsOfOneDelivery(t *testing.T) {
	own := newBox(queued(1, store.Pending))
	own.attempts = []store.Attempt{
		{Delivery: uid(1), Number: 1, At: since, Took: 10 * time.Second, Error: "timeout", Outcome: store.Retried},
		{Delivery: uid(1), Number: 2, At: since.Add(1500 * time.Millisecond), Took: 3 * time.Millisecond, Status: 404, Error: "404 Not Found", Outcome: store.GivenUp},
		{Delivery: uid(1), Number: 1, At: since.Add(time.Minute), Took: 2 * time.Millisecond, Status: 200, Outcome: store.Delivered},
		{Delivery: uid(2), Number: 1, At: since},
	}
	theirs := newBox()
	theirs.attempts = []store.Attempt{{Delivery: uid(3), Number: 1}}
	h := desk(t, theirs, newBox(), own)
	answers(t, ask(t, h, "attempts?id="+uid(1), ""), `{"items":[`+
		`{"number":1,"at":"2026-09-17T02:25:12Z","milliseconds":10000,"status":null,"error":"timeout","outcome":"retried"},`+
		`{"number":2,"at":"2026-09-17T02:25:13.5Z","milliseconds":3,"status":404,"error":"404 Not Found","outcome":"failed"},`+
		`{"number":1,"at":"2026-09-17T02:26:12Z","milliseconds":2,"status":200,"error":null,"outcome":"delivered"}]}`)
	for name, id := range map[string]string{"another tenant's": uid(3), "one there is not": uid(9)} {
		if got := ask(t, h, "attempts?id="+id, ""); got.Code != 200 || got.Body.String() != `{"items":[]}`+"\n" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// Every request about deliveries that works, for the tests of all routes.
var deliveryRequests = map[string]string{
	"pending": "", "stats": "", "attempts?id=" + uid(1): "", "drain": "{}",
	"requeue": `{"ids":["` + uid(1) + `"]}`, "skip": `{"ids":["` + uid(2) + `"]}`, "test": `{"target":"billing"}`,
}

func TestDeliveriesAreForTheAdminRole(t *testing.T) {
	h := desk(t, newBox(), newBox())
	for path, body := range deliveryRequests {
		for token, want := range map[string]int{"": 401, here + " clerk": 403, here + " operator": 200} {
			got := get(t, h, events+path, token)
			if body != "" {
				got = send(t, h, path, body, map[string]string{"Authorization": token, "Content-Type": "application/json"})
			}
			if got.Code != want {
				t.Errorf("%s as %q: %d %s, want %d", path, token, got.Code, got.Body, want)
			}
		}
		other := http.MethodPost
		if body != "" {
			other = http.MethodGet
		}
		r := httptest.NewRequestWithContext(t.Context(), other, events+path, nil)
		r.Header.Set("Authorization", here+" operator")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 405 {
			t.Errorf("%s %s: %d", other, path, w.Code)
		}
	}
}

// cookies says of every caller that a cookie vouches for it.
type cookies struct{ roles }

func (c cookies) Authenticate(r *http.Request) (*access.Principal, bool, error) {
	p, _, err := c.roles.Authenticate(r)
	return p, true, err
}

func TestAPageOfAnotherOriginMovesNothing(t *testing.T) {
	own := newBox(queued(1, store.Failed), queued(2, store.Failed))
	h, err := httpapi.New(httpapi.Config{Auth: cookies{}, Tenants: noRows{}, Routes: adminRoutes(newBox(), own), AdminRole: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range deliveryRequests {
		if body == "" {
			continue
		}
		header := map[string]string{"Authorization": here + " operator", "Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"}
		if got := send(t, h, path, body, header); got.Code != 403 || !strings.Contains(got.Body.String(), "cross_origin") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	if len(own.queue) != 2 || own.queue[0].Status != store.Failed {
		t.Error("something was moved")
	}
}

// No secret, body or header of a target is in any answer, and nothing of another tenant.
func TestAnswersHoldNoSecret(t *testing.T) {
	c := queued(3, store.Failed)
	c.Target = "theirs"
	theirs := newBox(c)
	theirs.stats.Targets[0].Name = "theirs"
	theirs.stats.Depths = []store.Depth{{Target: "theirs", Failed: 1}}
	h := desk(t, theirs, newBox(queued(1, store.Failed), queued(2, store.Failed)))
	for path, body := range deliveryRequests {
		if got := ask(t, h, path, body); got.Code != 200 || strings.Contains(got.Body.String(), "secret") || strings.Contains(got.Body.String(), "theirs") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	for _, body := range []string{`{"target":"theirs"}`, `{"target":"nosuch"}`} {
		for _, path := range []string{"test", "requeue"} {
			got := ask(t, h, path, body)
			if got.Code != 404 || !strings.Contains(got.Body.String(), `"code":"target_not_found","available":["billing"]`) {
				t.Errorf("%s %s: %d %s", path, body, got.Code, got.Body)
			}
		}
	}
}

func TestWithoutATargetThereIsNothingToMove(t *testing.T) {
	h := desk(t, newBox(queued(1, store.Failed)))
	answers(t, ask(t, h, "pending", ""), `{"items":[],"next":null}`)
	answers(t, ask(t, h, "attempts?id="+uid(1), ""), `{"items":[]}`)
	answers(t, ask(t, h, "stats", ""), `{"depth":{"pending":0,"claimed":0,"failed":0},"counters":{"attempted":0,"delivered":0,"retried":0,"failed":0,"leaselost":0},`+
		`"oldestdue":null,"targets":[],"undeclared":[]}`)
	for path, body := range deliveryRequests {
		if body == "" {
			continue
		}
		if got := ask(t, h, path, body); got.Code != 409 || !strings.Contains(got.Body.String(), `"code":"no_target_declared"`) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

func TestAnUnreachableDatastoreIsUnavailable(t *testing.T) {
	broken := newBox(queued(1, store.Failed))
	broken.fault = fmt.Errorf("dial secret-host: %w", store.ErrUnavailable)
	h := desk(t, newBox(), newBox(), broken)
	for path, body := range deliveryRequests {
		if path == "test" { // needs no datastore
			continue
		}
		if got := ask(t, h, path, body); got.Code != 503 || strings.Contains(got.Body.String(), "secret") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}
