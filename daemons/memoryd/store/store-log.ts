/** What the store tells its log; any logger with these three levels will do. */

export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLog: StoreLog = { info() {}, warn() {}, error() {} };
