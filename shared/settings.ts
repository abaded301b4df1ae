/**
 * Every setting of both daemons: one row each, with its type, default, unit and meaning. Checks, defaults,
 * `loopctl config show` and the shipped example files follow from these tables.
 */

export type SettingType = 'text' | 'integer' | 'flag' | 'choice' | 'table' | 'list';

export interface Setting<T = unknown> {
  readonly type: SettingType;
  readonly fallback: T;
  /** One sentence; the example files carry it as a comment. */
  readonly about: string;
  readonly choices?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  /** May change on SIGHUP, while the daemon runs. */
  readonly reloads?: true;
}

export type SettingsTable = Readonly<Record<string, Readonly<Record<string, Setting>>>>;
export type SettingsOf<T extends SettingsTable> = {
  readonly [S in keyof T]: { readonly [K in keyof T[S]]: T[S][K] extends Setting<infer V> ? V : never };
};

const text = (fallback: string, about: string): Setting<string> => ({ type: 'text', fallback, about });
const integer = (fallback: number, [min, max]: [number, number], about: string): Setting<number> => ({
  type: 'integer',
  fallback,
  about,
  min,
  max,
});
const flag = (fallback: boolean, about: string): Setting<boolean> => ({ type: 'flag', fallback, about });
const choice = <const C extends readonly string[]>(
  choices: C,
  fallback: C[number],
  about: string,
): Setting<C[number]> => ({
  type: 'choice',
  fallback,
  about,
  choices,
});
const table = <V>(about: string): Setting<Readonly<Record<string, V>>> => ({
  type: 'table',
  fallback: {},
  about,
});

const mebibyte = 1024 * 1024;
const hourMs = 60 * 60 * 1000;

const paths = {
  home: text('', 'The one directory that holds everything; empty: LOOPKEEP_HOME, else ~/.loopkeep.'),
  run: text('', 'Folder of the sockets; empty: run/ in the home.'),
  sessions: text('', 'Folder of the session logs; empty: sessions/ in the home.'),
  memory: text('', 'Folder of memory.md and user.md; empty: memory/ in the home.'),
  store: text('', 'Folder of the record store and the recall index; empty: store/ in the home.'),
};

const limits = {
  line_bytes_max: integer(
    8 * mebibyte,
    [1024, 256 * mebibyte],
    'Bytes of one message; a longer one closes its connection.',
  ),
  depth_max: integer(64, [4, 1000], 'How deep a message may nest.'),
  in_flight_max: integer(
    64,
    [1, 10_000],
    'Requests under way on one connection; then it is not read further.',
  ),
  connections_max: integer(256, [1, 10_000], 'Connections at once.'),
  unread_bytes_max: integer(
    16 * mebibyte,
    [64 * 1024, 1024 * mebibyte],
    'Bytes of replies a client leaves unread; then it is dropped.',
  ),
};

const log = {
  level: {
    ...choice(
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace'],
      'info',
      'The least severe line that is logged.',
    ),
    reloads: true,
  } as const,
};

const access = {
  socket_mode: choice(
    ['0600', '0660'],
    '0600',
    'Mode of the sockets; 0660 lets the group of their folder in.',
  ),
};

export const memorydSettings = {
  paths,
  access,
  store: {
    durable: choice(
      ['all', 'checkpoint'],
      'all',
      'all: every acknowledged record survives a power cut, by group commit; one write alone then costs about one fdatasync more, 64 at once share it. checkpoint: only checkpoints and flushes wait for the disk, the rest rides along and survives kill -9 but not a power cut.',
    ),
    free_mib_min: integer(
      64,
      [0, 1024 * 1024],
      'Free MiB on the disk below which writes are refused (at most 5 % of a small disk).',
    ),
    ballast_mib: integer(
      16,
      [0, 1024],
      'MiB kept in reserve, freed to recover from a full disk (at most 2 % of a small disk).',
    ),
  },
  memory: {
    memory_chars_max: integer(2200, [100, 100_000], 'Code points that memory.md may hold.'),
    user_chars_max: integer(1375, [100, 100_000], 'Code points that user.md may hold.'),
    review: {
      ...flag(false, 'Stage what a model writes until the person approves it.'),
      reloads: true,
    } as const,
  },
  recall: {
    time_zone: text('', 'IANA zone that local dates are read in; empty: the zone of the device.'),
    session_line_bytes_max: integer(
      64 * mebibyte,
      [mebibyte, 256 * mebibyte],
      'Bytes of one line of a session log; a longer one is skipped and counted.',
    ),
  },
  limits,
  log,
} as const satisfies SettingsTable;

export interface McpServerSetting {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
}

export const loopdSettings = {
  paths,
  access: {
    ...access,
    log_mode: choice(
      ['0600', '0640'],
      '0600',
      'Mode of the session logs; 0640 lets memoryd read them as another user.',
    ),
  },
  memory: {
    socket: text('', "memoryd's socket; empty: the one for loop runners in the home."),
    wait_ms: integer(2000, [10, 60_000], 'Milliseconds that a new session waits for its memory block.'),
  },
  model: {
    kind: choice(
      ['', 'builtin', 'openai'],
      '',
      'builtin: a fixed responder by rule, no model. openai: a server. Empty: openai where url is set.',
    ),
    url: text('', 'An OpenAI-compatible server without /v1, http://127.0.0.1:8080 or unix:/path.'),
    name: text('default', 'The model to ask it for.'),
    key_file: text('', 'File that holds the API key; empty: none.'),
    max_tokens: integer(1024, [16, 1_000_000], 'Tokens that one step of the model may produce.'),
    context_tokens: integer(0, [0, 10_000_000], "The model's context; 0: ask the server."),
    loading_ms: integer(300_000, [0, hourMs], 'Milliseconds to wait for a model that is loading.'),
    idle_ms: integer(
      90_000,
      [1000, hourMs],
      'Milliseconds without a byte after which a stream counts as dead.',
    ),
    turn_ms: integer(
      600_000,
      [1000, 24 * hourMs],
      'Milliseconds that one turn may take, besides waiting for the model.',
    ),
    steps_max: integer(12, [1, 100], 'Times that the model is asked in one turn.'),
    titles: flag(true, 'Give a new session a title after its first turn.'),
  },
  baseline: {
    system: text('', 'The system prompt; empty: the shipped one.'),
    tokens_max: integer(3000, [100, 100_000], 'Tokens of the system prompt and the tools together.'),
  },
  policy: {
    '*': { ...table<string>('Tool name or pattern = "allow", "deny" or "ask".'), reloads: true } as const,
  },
  broker: {
    socket: text('', 'Socket of an outside broker that decides on tool calls; empty: the policy does.'),
    wait_ms: integer(5000, [10, 600_000], 'Milliseconds to wait for its verdict.'),
  },
  ask: { wait_ms: integer(120_000, [100, hourMs], 'Milliseconds to wait for a person who was asked.') },
  mcp: {
    allow_client_servers: flag(false, 'Use MCP servers that a client names.'),
    call_ms: integer(60_000, [100, hourMs], 'Milliseconds that one call of a tool may take.'),
    servers: table<McpServerSetting>('Tables [mcp.servers.NAME] with command, args, env and cwd, or url.'),
  },
  limits,
  log,
} as const satisfies SettingsTable;

export type MemorydSettings = SettingsOf<typeof memorydSettings>;
export type LoopdSettings = SettingsOf<typeof loopdSettings>;
