"""The cycle model: when every instruction of a program starts and finishes, without computing anything."""
