# airlock-case: {"expect":"success","exit":0,"stdout":"","outputs":{},"note":"control: a program that does and says nothing has succeeded too"}
