// Package delivery holds the tests of what rowcast promises a receiver of
// webhooks, seen from outside: a whole server on a real SQLite file and a real
// PostgreSQL, and receivers that are real HTTP servers and verify all they get.
// Each test states the rule it keeps in our own words; all are of "Durable
// delivery" of the contract of streams, or go beyond it where they say so.
package delivery
