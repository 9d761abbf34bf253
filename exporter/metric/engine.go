package metric

func engineDefs() []Definer { return nil }
