"""The tests, one folder per stage; `oracle` is the independent meaning they are held against."""
