"""Problems and plans for people: text for a terminal, pictures as SVG.

In come a problem and a plan, out goes text. Nothing here decides anything.
"""
