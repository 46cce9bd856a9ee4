"""The cycle model finds when every instruction of a program starts and finishes, without computing any data."""
