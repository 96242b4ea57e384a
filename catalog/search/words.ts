import { stemmer } from 'stemmer';

/**
 * Synonyms in the vocabulary of agents and workflows, mainly abbreviations, which a stemmer does not know. One group a line.
 * The list is short on purpose: embeddings cover more.
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

const SYNONYMS: readonly (readonly string[])[] = GROUPS.trim()
  .split('\n')
  .map((line) => line.split(' '));

/** Maximum length of a text; the rest is ignored. */
const MAX_TEXT_CHARS = 16_384;

const MAX_WORD_CHARS = 64;

/** Size of the cache of stems. Stemming is half of the time of building an index, and catalogs repeat their words. */
const MAX_KNOWN_STEMS = 50_000;

const MARKS = /\p{M}+/gu;

/** Splits `codeReview`, `PDFReader` and `v2beta` into words. */
const HUMPS = /(\p{Ll}|\p{N})(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll})/gu;

/** Matches plurals of abbreviations, such as `PRs` and `APIs`. */
const PLURALS = /(?<!\p{L})(\p{Lu}{2,})s(?!\p{L})/gu;

const WORD = /[\p{L}\p{N}]+(?:'[\p{L}]+)?/gu;

const PLAIN = /^[a-z]+$/;

const stems = new Map<string, string>();

/** The stem of a lower-case word: by Porter for words of a to z; other words are unchanged. */
export function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const stem = PLAIN.test(word) ? stemmer(britishOf(word)) : word;
  if (stems.size >= MAX_KNOWN_STEMS) stems.clear();
  stems.set(word, stem);
  return stem;
}

/** Converts British to American spelling (`summarise` to `summarize`), which the stemmer knows. */
const britishOf = (word: string): string =>
  word.length < 7 ? word : word.replace(/is(e|es|ed|er|ers|ing|ation|ations)$/, 'iz$1').replace(/our(s?)$/, 'or$1');

/** The words of a text in lower case without accents; camelCase and kebab-case are split. */
export function wordsOf(text: string): string[] {
  const apart = text.slice(0, MAX_TEXT_CHARS).replace(PLURALS, '$1').replace(HUMPS, '$1$3 $2$4');
  const plain = apart.normalize('NFKD').replace(MARKS, '');
  const words: string[] = [];
  for (const [word] of plain.toLowerCase().matchAll(WORD)) {
    if (word.length <= MAX_WORD_CHARS) words.push(word.replace(/'.*$/, ''));
  }
  return words;
}

/** The words without stop words; all words when only stop words remain. */
export function tellingWordsOf(text: string): string[] {
  const words = wordsOf(text);
  const telling = words.filter(isTelling);
  return telling.length === 0 ? words : telling;
}

export const isTelling = (word: string): boolean => !STOP_WORDS.has(word);

const synonyms = new Map<string, readonly string[]>();

for (const group of SYNONYMS) {
  const all = group.map((word) => stemOf(word));
  for (const stem of all) {
    const known = synonyms.get(stem) ?? [];
    synonyms.set(stem, [...known, ...all.filter((other) => other !== stem && !known.includes(other))]);
  }
}

/** Stems of words with the same meaning. */
export const synonymsOf = (stem: string): readonly string[] => synonyms.get(stem) ?? [];

/**
 * Stop words: function words of English, phrases around a question ("I need something that can …"), and words that every entry
 * of the catalog has in common.
 */
const TEXT = `
a about above across after against all along also am among an and any are as at be because been before being below between both but by can could did do does doing done during
each either etc every few for from get give go goes had has have he her here him his how however i if in into is it its
just like make makes many may me might more most much must my need needs no not now of off on one only onto or other our
out over own please put same say she should since so some something such take than that the their them then there these
they thing things this those through to too toward towards under until up upon us use used uses using very via want wants was we well were
what when where whether which while who whom whose why will with within without would yet you your yours
able anybody anyone anything find help helps kindly let lets looking search show somebody someone tell
agent agents workflow workflows`;

const STOP_WORDS: ReadonlySet<string> = new Set(TEXT.split(/\s+/).filter((word) => word !== ''));
