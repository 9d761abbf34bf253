//go:build !cgo

package nvml

// Live returns a driver without any library: the library can be called through cgo only.
func Live() Driver { return noDriver{} }

type noDriver struct{}

func (noDriver) Init() Return                 { return NotBuilt }
func (noDriver) DeviceCount() (int, Return)   { return 0, NotBuilt }
func (noDriver) Do(int, Call) (Value, Return) { return Value{}, NotBuilt }
func (noDriver) Shutdown() Return             { return NotBuilt }
