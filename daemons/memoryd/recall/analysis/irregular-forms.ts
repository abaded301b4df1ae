/** English forms that no rule of endings brings together: went and go, children and child. */

/** Each line is a base form and what is folded into it. Forms that are commoner as another word are left out (saw, found, left). */
const families = `
arise arose arisen
awake awoke awoken
bear bore borne
beat beaten
become became
begin began begun
bend bent
bet bets
bind bound
bite bit bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
come came
creep crept
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone goes
grind ground
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lay laid
lead led
lean leant
leap leapt
learn learnt
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
prove proven
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
spend spent
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
strike struck
swear swore sworn
sweep swept
swell swollen
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
withdraw withdrew withdrawn
wind wound
write wrote written
child children
man men
woman women
foot feet
tooth teeth
goose geese
mouse mice
knife knives
life lives
wife wives
leaf leaves
half halves
shelf shelves
loaf loaves
wolf wolves
thief thieves
person people
datum data
medium media
criterion criteria
index indices
analysis analyses
mom mum mommy mummy mama
dad daddy papa
kid kiddo kiddos
bike bicycle
photo photograph pic picture
tv television
`;

export const irregularForms: ReadonlyMap<string, string> = new Map(
  families
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [base, ...forms] = line.split(' ');
      return forms.map((form): [string, string] => [form, base!]);
    }),
);
