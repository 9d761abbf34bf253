package metric

func thermalDefs() []Definer { return nil }
