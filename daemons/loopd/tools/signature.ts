/** A tool's JSON Schema as short lines that a small model can follow. */
import { clipLine } from './clip.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

const describedCharsMax = 120;
const parametersMax = 30;
const depthMax = 3;

/** One line for each parameter: `path (string, required): Where the file lies`. */
export function signatureLines(schema: JsonSchema): string[] {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  if (properties.length === 0) return ['no arguments'];
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []);
  const lines = properties.slice(0, parametersMax).map(([name, property]) => {
    const need = required.has(name) ? ', required' : '';
    const about =
      typeof property?.['description'] === 'string'
        ? `: ${clipLine(property['description'], describedCharsMax)}`
        : '';
    return `${name} (${typeText(property, 0)}${need})${about}`;
  });
  if (properties.length > parametersMax) lines.push(`and ${properties.length - parametersMax} more`);
  return lines;
}

export function parameterNames(schema: JsonSchema): string[] {
  return Object.keys(schema['properties'] ?? {});
}

function typeText(schema: JsonSchema | undefined, depth: number): string {
  if (typeof schema !== 'object' || schema === null) return 'any';
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => JSON.stringify(value)).join(' | ');
  if (schema['const'] !== undefined) return JSON.stringify(schema['const']);
  const branches = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(branches))
    return branches.map((branch) => typeText(branch as JsonSchema, depth + 1)).join(' | ');
  const type = schema['type'];
  if (type === 'array') return `array of ${typeText(schema['items'] as JsonSchema, depth + 1)}`;
  if (type === 'object' && depth < depthMax && schema['properties'] !== undefined) {
    const required = new Set((schema['required'] ?? []) as string[]);
    const members = Object.entries(schema['properties'] as Record<string, JsonSchema>).map(
      ([name, member]) => `${name}${required.has(name) ? '' : '?'}: ${typeText(member, depth + 1)}`,
    );
    return `{ ${members.join(', ')} }`;
  }
  return Array.isArray(type) ? type.join(' | ') : typeof type === 'string' ? type : 'any';
}
