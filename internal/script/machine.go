package script

import (
	"sync"

	"github.com/expr-lang/expr/vm"
)

// memoryBudget bounds the elements that one run may put in arrays and maps.
const memoryBudget = 100_000

// machine is what one run needs, kept for the next one.
type machine struct {
	vm    vm.VM
	env   map[string]any
	frame frame
}

var machines = sync.Pool{New: func() any {
	return &machine{vm: vm.VM{MemoryBudget: memoryBudget}, env: make(map[string]any, 8)}
}}

// release gives the machine back without the values it has seen.
func (m *machine) release() {
	clear(m.env)
	m.frame = frame{}
	stack := m.vm.Stack[:cap(m.vm.Stack)]
	clear(stack)
	m.vm.Stack = stack[:0]
	machines.Put(m)
}
