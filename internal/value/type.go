package value

// Type is the declared type of a field.
type Type uint8

// The field types of a schema. DateTime is an instant and behaves as Timestamp does.
const (
	String  Type = iota + 1
	Integer      // "int": 32 bits
	BigInt       // 64 bits
	Double
	Boolean
	Date
	DateTime
	Timestamp
	ULID
	UUID
	Object
	Array
	Bytes
	Enum // its members are the field's
)
