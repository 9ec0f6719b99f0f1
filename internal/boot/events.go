package boot

import (
	"time"

	"github.com/rowcast/rowcast/internal/document"
)

// The longest time that a log is kept: what a sequence of a busy server fills
// in a year is still read by number in no time.
const maxRetention = 366 * 24 * time.Hour

func (l *loader) readEvents(node *document.Node) {
	m := node.Map(&l.refusals, eventsShape)
	l.doc.Events.Retention = 24 * time.Hour
	if d, ok := m.Get("retention").Duration(&l.refusals, time.Second, maxRetention); ok {
		l.doc.Events.Retention = d
	}
	for _, member := range m.Get("targets").Members(&l.refusals) {
		l.readTarget(member)
	}
}

// readScheduler reads how often the queue is looked at. Without a target there
// is none, and nothing to refuse either: who takes the last target out of the
// document need not touch another key.
func (l *loader) readScheduler(node *document.Node) {
	m := node.Map(&l.refusals, document.Shape{What: "scheduler", Keys: []string{"outbox"}})
	outbox := m.Get("outbox").Map(&l.refusals, document.Shape{What: "scheduler.outbox", Keys: []string{"every"}})
	l.doc.Scheduler.Outbox.Every = 10 * time.Second
	if d, ok := outbox.Get("every").Duration(&l.refusals, time.Second, time.Hour); ok {
		l.doc.Scheduler.Outbox.Every = d
	}
}
