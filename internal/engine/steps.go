package engine

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowcast/rowcast/fault"
)

// DecodeSteps reads the body of a transaction: {"writes": [{"op", "entity",
// "id", "data"}, …]}. Faults: malformed_body for what is no JSON of that shape,
// invalid for a key that does not belong or a value of the wrong type.
func DecodeSteps(data []byte) ([]Step, error) {
	body, err := DecodeBody(data)
	if err != nil {
		return nil, err
	}
	var writes json.RawMessage
	for _, m := range body {
		if m.Name != "writes" {
			return nil, misshapen(m.Name, "unknown_field", "does not belong into a transaction, which has writes alone")
		}
		writes = m.Raw
	}
	if len(writes) == 0 || writes[0] != '[' {
		return nil, misshapen("writes", "required", "must be a list of writes")
	}
	objects, err := DecodeBodies(writes, false)
	if err != nil {
		f, _ := fault.Of(err)
		return nil, fault.New(fault.MalformedBody, "writes: %s", f.Message)
	}
	steps := make([]Step, len(objects))
	for i, object := range objects {
		if err := steps[i].decode(object); err != nil {
			return nil, inside(place(i), err)
		}
	}
	return steps, nil
}

func (s *Step) decode(object Body) (err error) {
	for _, m := range object {
		switch m.Name {
		case "op":
			s.Op, err = stepText(m, false)
		case "entity":
			s.Entity, err = stepText(m, false)
		case "id":
			s.ID, err = stepText(m, true)
		case "data":
			if s.Data, err = DecodeBody(m.Raw); err != nil {
				err = misshapen("data", "invalid_type", "must be a JSON object")
			}
		default:
			err = misshapen(m.Name, "unknown_field", "does not belong into a write, which has op, entity, id and data")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stepText reads a string; an id may be a number, as it is in the row.
func stepText(m Member, number bool) (string, error) {
	if len(m.Raw) > 0 && m.Raw[0] == '"' {
		text, err := jsontext.AppendUnquote(nil, m.Raw)
		return string(text), err
	}
	if number && len(m.Raw) > 0 && (m.Raw[0] == '-' || m.Raw[0] >= '0' && m.Raw[0] <= '9') {
		return string(m.Raw), nil
	}
	return "", misshapen(m.Name, "invalid_type", fmt.Sprintf("must be a string%s", map[bool]string{true: " or a number"}[number]))
}
