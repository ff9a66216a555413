// origin tests
