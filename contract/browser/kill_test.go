package browser

import (
	"os"
	"strconv"
	"testing"

	"github.com/rowcast/rowcast/internal/browsertest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// kills is how often the server dies: ROWCAST_KILLS, 2 where that is not set.
func kills(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("ROWCAST_KILLS"))
	if os.Getenv("ROWCAST_KILLS") == "" {
		return 2
	}
	if err != nil || n < 1 {
		t.Fatalf("ROWCAST_KILLS=%q is no number of kills", os.Getenv("ROWCAST_KILLS"))
	}
	return n
}

// A server is killed while it writes, and started again on the same address,
// with nothing between it and the browser: an EventSource opened before it all has every change
// once, in order. The page is of another origin, so that it talks to the server
// itself.
func TestKillsOfTheServer(t *testing.T) {
	clean(t)
	pages := browsertest.Balance(t)
	s := servertest.StartProcess(t, servertest.Options{
		Schema: schema, Listen: servertest.FreeAddress(t), Boot: `cors: {origins: ["` + pages.URL + `"]}`,
	})
	page := chromium.Open(t, pages.URL+"/page")
	page.SignIn(s.URL, s.Token("ann"))
	f := page.Follow(s.URL + "/subscribe/item?name=all&heartbeat=1s")
	f.Await(browsertest.Opened, 1)
	s.User("ann").Post("/data/item", `{"id":"first"}`).Is(201)
	f.Until("first")

	w := write(t, s)
	for n := range kills(t) {
		f.Await(browsertest.Opened, n+1)
		w.more()
		s.Kill()
		s.Start()
		w.more()
	}
	w.stop()
	f.Await(browsertest.Opened, kills(t)+1)
	s.User("ann").Post("/data/item", `{"id":"last"}`).Is(201)
	same(t, f, s, "/subscribe/item?name=all", "last")
	w.judge(f)
}
