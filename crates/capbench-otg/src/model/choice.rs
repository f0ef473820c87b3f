//! The model's choices: an object with one of several members, which `choice` names.

use serde::de::Error;

/// Declares a choice as an enum. `choice` may be missing: then the only member decides. A choice with a default has it without
/// a member, and a chosen member that is missing has its own. A choice without a default is refused there. Members in brackets
/// are of the model and not supported.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident = $default:ident; $($members:tt)+) => {
        impl Default for $name {
            fn default() -> Self {
                Self::$default(Default::default())
            }
        }

        choice! { @type $(#[$doc])* $name, Ok($name::default()), default_of; $($members)+ }
    };
    ($(#[$doc:meta])* $name:ident; $($members:tt)+) => {
        choice! { @type $(#[$doc])* $name, Err(Error::custom(".choice: is missing")), refuse; $($members)+ }
    };
    (@type $(#[$doc:meta])* $name:ident, $nothing:expr, $missing:ident;
     $($(#[$variant_doc:meta])* $variant:ident($member:literal: $type:ty)),+ $(,)?; [$($absent:literal),*]) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant($type),)+
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                struct Members;
                impl<'de> serde::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object with one of", $(" ", $member),+))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<$name, A::Error> {
                        use serde::de::Error;
                        let (mut choice, mut found): (Option<String>, Option<(&str, $name)>) = (None, None);
                        while let Some(key) = map.next_key::<String>()? {
                            let member = match key.as_str() {
                                "choice" => {
                                    choice = Some(map.next_value()?);
                                    continue;
                                }
                                $($member => ($member, $name::$variant(map.next_value()?)),)+
                                other => return Err(Error::custom(unknown(other))),
                            };
                            if let Some((first, _)) = found.replace(member) {
                                return Err(Error::custom(format!("{first} and {key} exclude each other")));
                            }
                        }
                        match (choice.as_deref(), found) {
                            (None, None) => $nothing,
                            (None, Some((_, value))) => Ok(value),
                            (Some(choice), Some((name, value))) if choice == name => Ok(value),
                            (Some(choice), Some((name, _))) => {
                                Err(Error::custom(format!("choice is {choice}, but {name} is given")))
                            }
                            $((Some($member), None) => super::choice::$missing($member, $name::$variant),)+
                            (Some(choice), None) => Err(Error::custom(unknown(choice))),
                        }
                    }
                }

                fn unknown(name: &str) -> String {
                    let absent: &[&str] = &[$($absent),*];
                    if absent.contains(&name) {
                        return format!("capbench does not support {name}; it has{}", concat!($(" ", $member),+));
                    }
                    format!("the model has no {name} here; there are{}", concat!($(" ", $member),+))
                }

                deserializer.deserialize_map(Members)
            }
        }
    };
}

/// What a chosen member that is missing has, in a choice with a default.
pub fn default_of<T: Default, C, E>(_: &str, variant: fn(T) -> C) -> Result<C, E> {
    Ok(variant(T::default()))
}

/// Refuses a chosen member that is missing, in a choice without a default.
pub fn refuse<T, C, E: Error>(member: &str, _: fn(T) -> C) -> Result<C, E> {
    Err(E::custom(format_args!(".{member}: is missing")))
}
