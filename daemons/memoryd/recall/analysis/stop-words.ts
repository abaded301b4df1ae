/** English words that say nothing about what a text is about; written without apostrophes, as the splitter leaves them. */

export const stopWords: ReadonlySet<string> = new Set(
  `a about above after again all also am an and any are aren arent as at be been before being below
  between both but by can cant cannot could couldnt did didnt do does doesnt doing dont down during each ever few
  for from further had hadnt has hasnt have havent having he hed her here heres hers herself hes him himself his how
  hows i id if ill im in into is isnt it itd itll its itself ive just let lets me more most my myself no nor not
  of off on once only or other our ours ourselves out over own same she shed shes should shouldnt so
  some such than that thats the their theirs them themselves then there theres these they theyd theyll theyre theyve
  this those through to too under until up very was wasnt we wed were werent weve what whats when whens
  where wheres which while who whos whom why whys will with wont would wouldnt you youd youll youre youve your yours
  yourself yourselves`.split(/\s+/),
);
