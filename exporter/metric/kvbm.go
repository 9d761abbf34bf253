package metric

func kvbmDefs() []Definer { return nil }
