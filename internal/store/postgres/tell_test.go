package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pace"
	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
)

// One notification tells of the commits of all stores of a database, and once
// of each, however many there were.
func TestOneNotificationTellsOfAllStores(t *testing.T) {
	url := pgtest.Database(t)
	cluster := NewCluster()
	var stores []*Store
	var want []string
	listening := connect(t, url)
	for i := range 3 {
		s, err := cluster.Open(t.Context(), Config{URL: url, Namespace: fmt.Sprintf("shop%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores, want = append(stores, s), append(want, s.channel)
		exec(t, listening, "LISTEN "+quote(s.channel))
	}
	tell := newTeller(stores[0].db)
	for range 5 {
		for _, s := range stores {
			tell.committed(s)
		}
	}
	if got := tell.tell(t.Context(), time.Minute); got != 15 {
		t.Errorf("told of %d commits, want 15", got)
	}
	if got := tell.tell(t.Context(), time.Minute); got != 0 {
		t.Errorf("told of %d commits again", got)
	}
	exec(t, listening, "LISTEN last")
	exec(t, listening, "NOTIFY last")
	var got []string
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		note, err := listening.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if note.Channel == "last" {
			break
		}
		got = append(got, note.Channel)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
}

// What an instance committed just before it stopped is told.
func TestAnInstanceThatStopsLeavesNothingUntold(t *testing.T) {
	one := newInstance(t, pgtest.Database(t))
	for n := range 20 {
		one.write(t, fmt.Sprint(n))
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if channels, commits := one.db.teller.take(); commits != 0 {
		t.Errorf("%d commits to %q are not told", commits, channels)
	}
}

// Under load those who follow the log look unasked, and notifications are fewer
// than their looks; before that no commit is told of later than it is looked for.
func TestNotificationsAreSparedUnderLoadAlone(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{
		0:               notifyPause,
		notifyPause / 2: notifyPause,
		2 * notifyPause: 2 * notifyPause,
		underLoad - 1:   underLoad - 1,
		underLoad:       2 * underLoad,
		pace.Most:       2 * pace.Most,
	} {
		if got := apart(wait); got != want {
			t.Errorf("%v where looks are %v apart, want %v", got, wait, want)
		}
	}
}

// The poll is for logs that nobody looks at: where one of them has not been
// looked at lately it asks for all.
func TestThePollRestsWhereAllLogsWereJustLookedAt(t *testing.T) {
	cluster, url := NewCluster(), pgtest.Database(t)
	var stores []*Store
	for _, name := range []string{"one", "two"} {
		s, err := cluster.Open(t.Context(), Config{URL: url, Namespace: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores = append(stores, s)
	}
	began := time.Now()
	for i, want := range []bool{false, true} {
		if err := stores[i].Glance(t.Context(), func(store.Reader) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := stores[0].db.glanced(began); got != want {
			t.Errorf("%v after %d of 2 logs were looked at, want %v", got, i+1, want)
		}
	}
	if stores[0].db.glanced(time.Now().Add(time.Second)) {
		t.Error("a look is younger than it is")
	}
}

// In a Glance each read sees what is committed when it begins, and the log ends
// where a View's would.
func TestAGlanceIsAsYoungAsEachOfItsReads(t *testing.T) {
	url := pgtest.Database(t)
	one := newInstance(t, url)
	err := one.Glance(t.Context(), func(r store.Reader) error {
		for n, want := range []int{0, 1, 1} {
			rows, err := r.Log(0, 10)
			if err != nil {
				return err
			}
			if len(rows) != want {
				t.Errorf("read %d finds %d rows, want %d", n, len(rows), want)
			}
			switch n {
			case 0:
				one.write(t, "1")
			case 1: // what is above a number that may still come is not shown
				pause(t, one.Store, url).append("open", "a")
				one.write(t, "2")
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
