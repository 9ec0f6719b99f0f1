// Package browser holds the streams to what a browser makes of them: the native
// EventSource of a real Chromium follows them across kills, shutdowns, lifetimes
// and outages, with nothing but its session cookie and the reconnects that are
// built into it. It has to end with every change once, in order; what it would
// not forgive (any answer but 200, a connection that asks it to begin anew) shows
// as a stream that stays silent.
package browser
