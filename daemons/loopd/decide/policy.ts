/** What the configuration says about tool calls: allow, deny or ask, by tool name or pattern. */
import { AppError } from '../../../shared/errors.ts';

const policyVerdicts = ['allow', 'deny', 'ask'] as const;
type PolicyVerdict = (typeof policyVerdicts)[number];

interface PolicyRuling {
  readonly verdict: PolicyVerdict;
  /** Names the rule, as the session log keeps it. */
  readonly rule: string;
}

interface Rule {
  readonly pattern: string;
  readonly verdict: PolicyVerdict;
  readonly matches: (name: string) => boolean;
}

const rulesMax = 1_000;
/** The tool through which all others are called: a rule for it holds for each of them. */
const callTool = 'call_tool';

/** An exact name comes before a pattern, a longer pattern before a shorter one. */
export class Policy {
  readonly #rules: readonly Rule[];

  /** @throws AppError config-invalid */
  constructor(settings: Readonly<Record<string, string>>) {
    const entries = Object.entries(settings);
    if (entries.length > rulesMax) throw invalid(`[policy] has ${entries.length} rules, over ${rulesMax}`);
    this.#rules = entries.map(ruleOf).toSorted((a, b) => weightOf(b.pattern) - weightOf(a.pattern));
  }

  /** `isCore`: one of loopd's own tools, which are allowed where no rule says otherwise; any other is asked for. */
  ruling(name: string, isCore: boolean): PolicyRuling {
    const gate = isCore ? undefined : this.#rules.find(({ pattern }) => pattern === callTool);
    if (gate?.verdict === 'deny') return rulingOf(gate);
    const rule = this.#rules.find(({ matches }) => matches(name)) ?? gate;
    if (rule !== undefined) return rulingOf(rule);
    return isCore
      ? { verdict: 'allow', rule: 'default: core tool' }
      : { verdict: 'ask', rule: 'default: ask' };
  }
}

function rulingOf({ pattern, verdict }: Rule): PolicyRuling {
  return { verdict, rule: `policy: ${pattern} = ${verdict}` };
}

function ruleOf([pattern, verdict]: [string, string]): Rule {
  if (!policyVerdicts.includes(verdict as PolicyVerdict)) {
    throw invalid(`policy.${pattern} must be one of ${policyVerdicts.join(', ')}, not "${verdict}"`);
  }
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  const expression = new RegExp(`^${parts.join('.*')}$`, 's');
  return { pattern, verdict: verdict as PolicyVerdict, matches: (name) => expression.test(name) };
}

const exactWeight = 1_000_000;

function weightOf(pattern: string): number {
  return pattern.includes('*') ? pattern.replaceAll('*', '').length : exactWeight;
}

function invalid(message: string): AppError {
  return new AppError('config-invalid', message);
}
