// Package contract holds the tests of what rowcast promises on the wire, seen
// from outside: a whole server, a real SQLite file and a real PostgreSQL, real
// HTTP. Each test states the rule it keeps in our own words, and the section of
// the contract it stands in; where rowcast promises more than the contract, the
// test says so and shows the stronger behaviour. Sections of the contract of
// streams go by their titles, those of the contract of channels by their numbers.
//
// channel_cases_test.go and filter_cases_test.go play the shared cases of
// testdata/cases; property_test.go and the noninterference tests work out for
// themselves what may be told, without a line of the server's code.
package contract
