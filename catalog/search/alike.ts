/**
 * Words that people use for the same thing, in the vocabulary of agents and workflows; abbreviations above all, which no
 * stemmer knows. One group a line. Kept short on purpose: who needs more configures embeddings.
 */
const GROUPS = `
k8s kubernetes
js javascript node nodejs
ts typescript
py python
db database
pr pullrequest
repo repository
doc docs documentation
config configuration settings
auth authentication authorization login
env environment
infra infrastructure
perf performance latency slow
sec security
cve vulnerability exploit
ml machinelearning
qa quality
ci pipeline continuousintegration
ui frontend interface
api endpoint rest
bug defect error fault issue crash failure
fix repair correct solve resolve patch
test verify check validate
summarize summary digest brief shorten condense
translate translation localize localization
review reviewer inspect critique audit auditor
write author compose draft create generate produce
email mail inbox
image picture photo
invoice bill billing
customer client
delete remove erase
deploy release rollout ship
monitor watch observe alert
scrape crawl harvest
analyze analysis examine
forecast predict prediction
classify categorize triage label
plan schedule calendar
refactor restructure cleanup
search lookup query retrieve
meeting call conference
salary payroll wage
employee staff hr
purchase buy procurement
money finance financial accounting
law legal contract compliance
ticket incident outage
lint style format
convert transform migrate
speech voice audio
vacation holiday travel trip`;

export const ALIKE: readonly (readonly string[])[] = GROUPS.trim()
  .split('\n')
  .map((line) => line.split(' '));
