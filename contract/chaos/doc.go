// Package chaos lets writers and subscribers do all that they may, at random,
// around a server that is stopped and killed meanwhile, and then holds what
// every subscriber was shown against a model: who may see everything saw each
// committed change once, in order; who may see some of it saw nothing else and
// missed nothing that stayed visible.
//
// The model needs no clock. Each row has one writer, who knows the order of its
// changes from the answers; where an answer was lost, the writer looks at the
// row to learn whether the change was made. ROWCAST_CHAOS sets how long it
// lasts (30s), ROWCAST_CHAOS_SEED repeats the decisions of a run.
package chaos
