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

var typeNames = [...]string{
	String: "string", Integer: "int", BigInt: "bigint", Double: "double",
	Boolean: "boolean", Date: "date", DateTime: "datetime", Timestamp: "timestamp",
	ULID: "ulid", UUID: "uuid", Object: "object", Array: "array", Bytes: "bytes", Enum: "enum",
}

// TypeNames returns the names a schema may write as a type, in a fixed order.
// An enum is written by its own name and so has none here.
func TypeNames() []string {
	return append([]string(nil), typeNames[String:Enum]...)
}

// ParseType returns the type that a schema writes by that name. Names of enums
// are the schema's to resolve.
func ParseType(name string) (Type, bool) {
	for t := String; t < Enum; t++ {
		if typeNames[t] == name {
			return t, true
		}
	}
	return 0, false
}

// String returns the name of the type in a schema; "enum" for Enum.
func (t Type) String() string {
	if int(t) >= len(typeNames) || t == 0 {
		return "unknown"
	}
	return typeNames[t]
}

// Class returns the storage class of every value of the type that is not NULL.
func (t Type) Class() Class {
	switch t {
	case Integer, BigInt, Boolean, DateTime, Timestamp:
		return Int
	case Double:
		return Float
	case Bytes:
		return Blob
	case String, Date, ULID, UUID, Object, Array, Enum:
		return Text
	default:
		return Null
	}
}

// Scalar reports whether a value of the type can be an operand: compared,
// filtered by, sorted by. Objects, arrays and bytes take null checks alone.
func (t Type) Scalar() bool {
	return t != Object && t != Array && t != Bytes
}
