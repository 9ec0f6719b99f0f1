// Package contract holds the tests of what rowcast promises on the wire, seen
// from outside: a whole server, a real SQLite file, real HTTP. Each test states
// the rule it keeps in our own words, and the section of the contract it stands
// in; where rowcast promises more than the contract, the test says so and shows
// the stronger behaviour.
package contract
